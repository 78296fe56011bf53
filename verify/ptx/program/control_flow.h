#pragma once

// Basic blocks of a kernel's steps, and where diverged lanes meet again.

#include <cstdint>
#include <vector>

#include "verify/ptx/program/program.h"

namespace recto::ptx {

inline constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};

struct BasicBlock {
  std::uint32_t begin = 0;  // steps
  std::uint32_t end = 0;
  std::vector<std::uint32_t> successors = {};
  std::vector<std::uint32_t> predecessors = {};
  // The first block that every path to an exit passes; none if no path leads to an exit, or only
  // the exit itself is common to all.
  std::uint32_t post_dominator = kNoBlock;
};

struct ControlFlow {
  std::vector<BasicBlock> blocks;       // in the order of steps; the first is the entry
  std::vector<std::uint32_t> block_of;  // by step
};

// O(steps * nesting of loops).
ControlFlow control_flow_of(const Program& program);

}  // namespace recto::ptx
