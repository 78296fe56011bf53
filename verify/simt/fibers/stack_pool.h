#pragma once

// Stacks for fibers, mapped once and reused.

#include <cstddef>
#include <vector>

#include "verify/simt/fibers/fiber.h"

namespace recto::simt {

// A guard below each stack, which must not be touched.
inline constexpr std::size_t kStackGuardBytes = 4096;

// Belongs to one OS thread; must not be shared.
class StackPool {
 public:
  explicit StackPool(std::size_t stack_bytes) : stack_bytes_(stack_bytes) {}
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  // Maps stacks until there are `count`. False if the system provides no more.
  bool reserve(std::size_t count);
  const StackMemory& stack(std::size_t index) const { return stacks_[index]; }

 private:
  std::size_t stack_bytes_;
  std::vector<StackMemory> stacks_;
};

// Enough for kernels. Sanitizers make stack frames several times larger.
std::size_t default_stack_bytes();

}  // namespace recto::simt
