#pragma once

// The numbered barriers of a thread block.

#include <array>
#include <cstdint>
#include <vector>

#include "verify/ptx/machine/block_memory.h"
#include "verify/ptx/machine/reporter.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

class BlockBarriers {
 public:
  BlockBarriers(BlockMemory& memory, std::vector<Warp>& warps) : memory_(memory), warps_(warps) {}

  void begin();
  Next arrive(std::size_t group, const WarpStep& at, const Detail& detail);
  // These threads have exited, and barriers do not wait for them any more.
  void exit(std::uint32_t threads);
  std::uint32_t num_exited() const { return exited_; }

 private:
  static constexpr unsigned kBarriers = 16;

  struct Barrier {
    std::vector<LaneMask> arrived = {};  // by warp
    std::vector<LaneMask> waiting = {};
    std::uint32_t count = 0;
    bool is_used = false;
    std::uint32_t place = 0;
    std::uint32_t population = 0;  // of predicates
    bool all = true;
    bool any = false;
  };

  bool may_arrive(std::size_t group, const WarpStep& at, const Detail& detail,
                  std::uint32_t number);
  bool is_elsewhere(std::size_t group, const WarpStep& at, std::uint32_t number);
  bool is_complete(const Barrier& barrier) const;
  void release(std::uint32_t number);
  void give_results(const Barrier& barrier, Warp& warp, const Warp::Group& group) const;
  void report_exits(const Barrier& barrier);

  BlockMemory& memory_;
  std::vector<Warp>& warps_;
  std::array<Barrier, kBarriers> barriers_;
  std::uint32_t exited_ = 0;
};

}  // namespace recto::ptx
