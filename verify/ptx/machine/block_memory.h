#pragma once

// The memory that a thread block's warps see: addresses, bounds, alignment, and the records of what
// was touched.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/ptx/checks/race_checker.h"
#include "verify/ptx/lanes/lane_tables.h"
#include "verify/ptx/machine/launch_run.h"
#include "verify/ptx/machine/mbarrier.h"
#include "verify/ptx/machine/reporter.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

class BlockMemory;

// A thread block among those of its cluster, by rank.
struct ClusterPlace {
  std::uint32_t rank = 0;
  std::vector<std::uint64_t> blocks = {};
  std::vector<BlockMemory*> memories = {};
};

class BlockMemory {
 public:
  BlockMemory(LaunchRun& run, Reporter& reporter);

  void begin(const ClusterPlace& place);  // forgets all
  // Its threads have exited: others of the cluster must not touch it any more.
  void end() { has_ended_ = true; }

  // Addresses as a kernel has them. Lanes that take no part get that of one that does.
  void compute_addresses(const Warp& warp, const MemoryOperand& operand, LaneMask lanes,
                         LaneAddresses& addresses) const;
  // Checks and records. Afterwards `pointers` has the lanes' memory on this machine; lanes that
  // take no part have that of one that does. False if the kernel cannot go on.
  bool access(const Warp& warp, const MemoryOperand& operand, const Access& access,
              LaneAddresses& pointers);
  // All in one for loads of all 32 lanes, if they are where the operand's accesses mostly are, and
  // no check records them. False, and nothing is done, if they are not.
  bool load_usual(const Warp& warp, const MemoryOperand& operand, const Access& access,
                  const LoadShape& shape) const;
  // The same for addresses that are already known.
  bool access_global(const Warp& warp, const Access& access, LaneAddresses& pointers);
  bool access_shared(const Warp& warp, MemorySpace space, const Access& access,
                     LaneAddresses& pointers);

  // Memory of a thread block of the cluster.
  struct SharedPlace {
    BlockMemory* owner = nullptr;
    std::uint32_t rank = 0;
    std::uint32_t offset = 0;

    // As others of the cluster have it.
    std::uint64_t address() const { return std::uint64_t{rank + 1} << kRankShift | offset; }
  };
  // Where the lane's operand points; nothing if that is not in shared memory of the cluster.
  std::optional<SharedPlace> shared_place(const Warp& warp, const MemoryOperand& operand,
                                          unsigned lane);
  std::uint32_t rank() const { return place_.rank; }
  BlockMemory* of_rank(std::uint32_t rank) {
    return rank < place_.memories.size() ? place_.memories[rank] : nullptr;
  }

  std::byte* shared(std::uint32_t offset) { return shared_.data() + offset; }
  std::uint32_t shared_end() const { return shared_end_; }
  const std::byte* local(std::uint32_t thread) const {
    return local_.data() + std::size_t{thread} * run_.program.local_bytes;
  }
  Mbarriers& mbarriers() { return mbarriers_; }
  Reporter& reporter() const { return reporter_; }
  LaunchRun& run() const { return run_; }
  BlockChecker* checker() { return checker_ ? &*checker_ : nullptr; }
  ShadowMemory& shadow() { return shadow_; }
  const LaneTables& tables() const { return tables_; }
  std::string shared_text(std::uint64_t address) const;
  // Reports the first lane whose address is no multiple of the access's bytes.
  bool is_aligned(const Warp& warp, MemorySpace space, const Access& access,
                  const LaneAddresses& addresses);

 private:
  void learn_place(const MemoryOperand& operand, const Access& access,
                   const LaneAddresses& pointers);
  std::uint64_t shared_origin() const { return reinterpret_cast<std::uintptr_t>(shared_.data()); }
  std::uint64_t origin_of(const UsualPlace& place) const {
    return place.is_shared ? shared_origin() : 0;
  }
  bool access_usual(const Warp& warp, const MemoryOperand& operand, const Access& access,
                    LaneAddresses& pointers);
  bool access_generic(const Warp& warp, const Access& access, LaneAddresses& pointers);
  bool access_space(const Warp& warp, MemorySpace space, const Access& access,
                    LaneAddresses& pointers);
  bool access_private(const Warp& warp, MemorySpace space, const Access& access,
                      LaneAddresses& pointers);
  bool stays_in_pieces(const Warp& warp, const Access& access, const LaneAddresses& pointers);
  const NamedPiece* shared_piece(std::uint64_t address) const;
  BlockMemory* owner_of(MemorySpace space, std::uint64_t address);
  void record_global(const Warp& warp, const Access& access, const LaneAddresses& addresses);
  bool touch(const Warp& warp, BlockMemory& owner, const Access& access,
             const LaneAddresses& pointers);
  bool is_declared(const Warp& warp, BlockMemory& owner, const Access& access,
                   const LaneAddresses& pointers);

  LaunchRun& run_;
  const Program& program_;
  Reporter& reporter_;
  const LaneTables& tables_ = lane_tables();
  ClusterPlace place_;
  std::vector<std::byte> shared_;
  std::vector<std::byte> local_;
  std::vector<NamedPiece> shared_pieces_;
  std::uint32_t shared_end_ = 0;
  Mbarriers mbarriers_;
  std::optional<BlockChecker> checker_;
  ShadowMemory shadow_;
  bool has_ended_ = false;
};

}  // namespace recto::ptx
