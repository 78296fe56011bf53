#pragma once

// What the thread blocks of a launch have in common for its checks: shadows of global memory, the
// order that atomic operations make, and asynchronous operations.

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verify/ptx/checks/shadow_memory.h"

namespace recto::ptx {

// What is known of others: the clocks of warps and lanes, and how far streams of operations are.
using Clocks = std::unordered_map<std::uint64_t, std::uint32_t>;

void raise(Clocks& clocks, std::uint64_t key, std::uint32_t clock);  // to `clock` at least
void merge(Clocks& into, const Clocks& from);

// Global memory, whose accesses by all thread blocks of a launch are checked, and operations.
class GridChecker {
 public:
  struct Region {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    std::unique_ptr<ShadowMemory> shadow = {};
  };

  // Regions that are never written need no checks and are not added.
  void add(std::uintptr_t begin, std::size_t bytes, Contents contents);
  Region* find(std::uintptr_t address);

  // Fences and atomic operations order threads: what a thread did before a fence and an atomic
  // operation precedes what another does after an atomic operation on the same address and a fence.
  // By address, for those of one thread block, or (0) for all.
  std::map<std::pair<std::uintptr_t, std::uint32_t>, Clocks> releases;

  // An asynchronous operation is over for those who know that its stream, an mbarrier or the groups
  // of a thread, has gone beyond its index.
  struct Operation {
    std::uint32_t stream = 0;
    std::uint32_t index = 0;
  };
  std::uint32_t begin_operation(const Operation& operation);
  const Operation& operation(std::uint32_t number) const { return operations_[number]; }

 private:
  std::vector<Region> regions_;  // by address
  std::vector<Operation> operations_;
};

}  // namespace recto::ptx
