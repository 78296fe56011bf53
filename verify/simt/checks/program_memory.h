#pragma once

// The memory of the program itself and its shared libraries: constants and tables that kernels may
// read, thread-local variables, code.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recto::simt {

class ProgramMemory {
 public:
  struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    bool contains(std::uintptr_t address) const { return address >= begin && address < end; }
    std::size_t bytes() const { return end - begin; }
  };

  // Looks at what is loaded now, and at the calling OS thread's thread-local variables.
  void refresh();

  // The segment of a module that `address` lies in, or null.
  const Range* find_loaded(std::uintptr_t address) const;
  // The thread-local variables of one module, of the OS thread that called refresh().
  std::span<const Range> thread_local_variables() const { return thread_local_; }

  // The address of an instruction, from its lower half. The one that is closest to `near` where
  // several modules have such an address.
  std::uintptr_t instruction(std::uint32_t lower_half, std::uintptr_t near) const;

 private:
  std::vector<Range> loaded_;
  std::vector<Range> code_;
  std::vector<Range> thread_local_;
};

}  // namespace recto::simt
