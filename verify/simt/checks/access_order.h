#pragma once

// The order of accesses, as established by the barriers between them and not by the schedule that
// happened to run. Block barriers and objects such as mbarriers order the threads of a block, warp
// barriers the lanes of a warp, grid barriers the thread blocks of a launch, atomic operations
// between fences threads of any blocks. Launches are always ordered. Shuffles order nothing.

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "verify/simt/checks/access_stamp.h"
#include "verify/simt/checks/fence_order.h"
#include "verify/simt/executor/finding.h"
#include "verify/simt/executor/thread_block.h"

namespace recto::simt {

// The threads whose accesses can conflict in a piece of memory.
enum class Scope : std::uint8_t { kBlock, kGrid };

class AccessOrder {
 public:
  // The epoch of the host's accesses: before all launches.
  static constexpr std::uint32_t kHostEpoch = 1;
  static constexpr Stamp kHostWrite = Stamp(kHostEpoch, 0, 1);

  // A clock for each lane of a warp.
  using LaneClocks = std::array<std::uint32_t, kWarpSize>;

  void begin_launch(const Launch& launch);
  void begin_block(const ThreadBlock& block);
  void pass_barrier(const ThreadBlock& block);
  void pass_grid_barrier();
  void pass_warp_barrier(const ThreadBlock& block, unsigned warp, std::uint32_t lanes);
  // Orders what `thread` does before it releases an object before what another thread of its block
  // does after it acquires the object, if a phase of the object has ended in between. O(threads of
  // the block).
  void release(const ThreadState& thread, const void* object);
  void end_phase(const ThreadBlock& block, const void* object);
  void acquire(const ThreadState& thread, const void* object);
  // Everything released to `from` so far also counts as released to `to`.
  void pass_on(const ThreadBlock& block, const void* from, const void* to);
  // FenceOrder says what these order. O(threads of the block), and of the blocks that released.
  void pass_fence(const ThreadState& thread);
  void pass_atomic(const ThreadState& thread, std::uintptr_t address, AccessKind kind);
  // Whether a thread of this launch has passed a fence.
  bool has_fences() const { return fences_.has_fences(); }

  // From now on `thread` is the running thread.
  void resume(const ThreadState& thread);

  // The stamp of the running thread.
  Stamp now() const { return now_; }
  // The epoch in which the thread's block began or, for global memory, the launch or its last grid
  // barrier. Anything older is irrelevant to the thread.
  template <Scope kScope>
  std::uint32_t first_epoch() const {
    return kScope == Scope::kBlock ? block_epoch_ : grid_epoch_;
  }

  // Whether `past` comes before the running thread's next action. O(1), except in cooperative
  // launches and with fences, where it searches the barriers passed so far.
  template <Scope kScope>
  bool precedes(Stamp past) const {
    const std::uint32_t epoch = past.epoch();
    if (epoch == now_.epoch()) return precedes_in_epoch(past);
    if constexpr (kScope == Scope::kBlock) return true;
    if (epoch < grid_epoch_) return true;
    if (is_cooperative_ ? block_of(epoch) == block_ : epoch >= block_epoch_) return true;
    return was_handed_over(past);
  }
  bool is_other_block(Stamp past) const {
    return past.epoch() >= grid_epoch_ && block_of(past.epoch()) != block_;
  }

  // Adds a row of clocks, to which records refer while an epoch lasts. Rows do not change.
  std::uint32_t add_clocks(const LaneClocks& clocks);
  const LaneClocks& clocks(std::uint32_t row) const { return rows_[row]; }

  // The thread of the stamp, in this launch.
  ThreadPlace place_of(Stamp stamp) const;

  // Whether there are too few epochs left for another launch.
  bool is_exhausted() const { return epoch_ >= UINT32_MAX / 2; }

 private:
  // The clocks of a warp's lanes as each lane knows them, all in one epoch.
  struct WarpClocks {
    std::uint32_t epoch = 0;
    std::array<LaneClocks, kWarpSize> known = {};  // [lane that knows][lane that is known]
  };
  // One clock per thread from which messages came, all in one epoch.
  using Clocks = std::vector<std::uint32_t>;
  struct Object {
    Clocks released = {};
    Clocks ended = {};  // `released` when the last phase ended
  };
  struct Messages {
    std::uint32_t epoch = 0;
    std::vector<Clocks> known = {};  // [thread that knows][thread that is known], if it knows any
    std::map<const void*, Object> objects = {};
  };
  struct Block {
    std::uint64_t index = 0;
    std::uint32_t first_epoch = 0;
    std::uint32_t epoch = 0;
    std::vector<WarpClocks> warps;
    Messages messages;
  };
  // The epochs from this one up to the next entry's belong to this thread block.
  struct Turn {
    std::uint32_t epoch = 0;
    std::uint64_t block = 0;
  };

  void begin_epoch(Block& block);
  bool precedes_in_epoch(Stamp past) const {
    if (past.thread() == now_.thread()) return true;
    if (past.warp() != now_.warp()) return was_told_of(past) || was_handed_over(past);
    if (clocks_->epoch == now_.epoch() &&
        clocks_->known[now_.lane()][past.lane()] >= past.clock()) {
      return true;
    }
    return was_handed_over(past);
  }
  bool was_told_of(Stamp past) const {
    const Messages& messages = running_->messages;
    if (messages.epoch != now_.epoch()) return false;
    const Clocks& known = messages.known[now_.thread()];
    return !known.empty() && known[past.thread()] >= past.clock();
  }
  bool was_handed_over(Stamp past) const {
    return fences_.has_fences() &&
           fences_.was_handed({block_, now_.thread()}, block_of(past.epoch()), past);
  }
  static WarpClocks& clocks_of(Block& block, unsigned warp);
  Clocks clocks_known_to(const ThreadState& thread, Block& block) const;
  Messages& messages_of(Block& block) const;
  std::uint64_t block_of(std::uint32_t epoch) const;

  std::uint32_t epoch_ = kHostEpoch;  // the latest that has begun
  std::uint32_t grid_epoch_ = 0;      // everything earlier is ordered for all threads
  bool is_cooperative_ = false;
  Dim3 grid_ = {};
  Dim3 block_dim_ = {};
  std::unordered_map<const ThreadBlock*, Block> blocks_;
  std::vector<Turn> turns_;
  std::vector<LaneClocks> rows_;
  FenceOrder fences_;

  // State of the running thread.
  const ThreadBlock* running_block_ = nullptr;
  const Block* running_ = nullptr;
  Stamp now_;
  std::uint64_t block_ = 0;
  std::uint32_t block_epoch_ = 0;
  const WarpClocks* clocks_ = nullptr;
};

}  // namespace recto::simt
