#pragma once

// Counts what determines a kernel's speed, as far as it can be known without a GPU: for each source
// line, the memory that its warps access, and how often they wait for each other. Kernels must be
// built for it (NAME_observed of kernels.bzl); in others it counts only barriers and warp-wide
// operations.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "verify/simt/counters/warp_access.h"
#include "verify/simt/executor/device_memory.h"
#include "verify/simt/executor/finding.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/thread_block.h"

namespace recto::simt {

struct Counts {
  // Per warp; barriers are counted once per thread block.
  std::uint64_t instructions = 0;
  // Distinct bytes within each instruction. 0 for operations that touch no memory.
  std::uint64_t bytes = 0;
  // Global memory: sectors of 32 bytes, each counted once per instruction that touches it.
  std::uint64_t sectors = 0;
  std::uint64_t wasted_bytes = 0;  // bytes of sectors that no lane requested
  // Shared memory: passes over the banks, beyond those that the bytes need.
  std::uint64_t bank_conflicts = 0;

  Counts& operator+=(const Counts& other);
};

// The counts of one kind of operation on one line of a kernel.
struct LineCount : Counts {
  std::string kernel;
  std::string place;  // "a.cuh:17"
  std::string what;   // "global read", "shared write", "__shfl_xor_sync"
};

// Lanes of a warp are assumed to run an instruction together if it is, for each of them, the same
// occurrence since the last barrier or warp-wide operation of the whole warp. Lanes that take
// different paths through a loop may be grouped wrongly. An access costs O(log n) in the accesses
// that its warp has made since then, and is kept until the warp meets again.
class AccessCounter final : public Observer {
 public:
  // The memory must outlive it. Only its buffers count as global memory.
  explicit AccessCounter(const DeviceMemory& memory) : memory_(memory) {}

  // The counts of all launches so far, sorted by kernel, place and kind. Looks up source lines, so
  // it must not be called while a kernel runs.
  std::vector<LineCount> counts() const;
  // The sum over everything. It looks up no source lines, because each look-up starts a process.
  LineCount sum() const;
  // The counts as text, one per line.
  std::string table() const;
  void clear() { totals_.clear(); }

  void begin_launch(Launch& launch) override;
  void begin_block(ThreadBlock& block) override;
  void end_block(ThreadBlock& block) override;
  void access(std::uintptr_t address, AccessShape shape, std::uintptr_t instruction) override;
  void pass_barrier(ThreadBlock& block) override;
  void pass_grid_barrier() override;
  void pass_collective(ThreadBlock& block, unsigned warp, std::uint32_t lanes,
                       const Collective& what) override;
  void begin_copy(ThreadState& thread, const AsyncCopy& copy) override;

 private:
  enum class Space : std::uint8_t { kNone, kGlobal, kShared };
  // What happens at a place, identified by the memory that it touches or by name.
  struct Event {
    std::uintptr_t instruction = 0;
    Site site = {};
    Space space = Space::kNone;
    AccessKind kind = AccessKind::kRead;
    std::string name = {};

    auto key() const {
      return std::make_tuple(instruction, std::string(site.file), site.line, space, kind, name);
    }
    friend bool operator<(const Event& a, const Event& b) { return a.key() < b.key(); }
  };
  struct Occurrence {
    std::uintptr_t instruction = 0;
    AccessKind kind = AccessKind::kRead;
    Space space = Space::kNone;
    std::uint64_t number = 0;

    auto operator<=>(const Occurrence&) const = default;
  };
  // What a warp has done since its lanes last met.
  struct Warp {
    std::map<Occurrence, WarpAccess> accesses;
    // How often each lane has reached an instruction.
    std::map<std::tuple<unsigned, std::uintptr_t, AccessKind, Space>, std::uint64_t> numbers;
  };
  void note(const ThreadState& thread, std::uintptr_t address, const AccessShape& shape,
            std::uintptr_t instruction);
  Space space_of(const ThreadState& thread, std::uintptr_t address) const;
  void finish(Warp& warp);
  void finish(const ThreadBlock& block);
  void note_meeting(const ThreadState& thread, const char* name);
  static std::string name_of(const Event& event);

  const DeviceMemory& memory_;
  std::string kernel_;
  std::map<const ThreadBlock*, std::vector<Warp>> warps_;
  std::map<std::pair<std::string, Event>, Counts> totals_;  // by kernel
};

}  // namespace recto::simt
