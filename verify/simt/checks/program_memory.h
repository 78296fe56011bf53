#pragma once

// The memory of the program and its shared libraries: code, constants, and tables that kernels may
// read.

#include <cstdint>
#include <vector>

namespace recto::simt {

class ProgramMemory {
 public:
  struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    bool contains(std::uintptr_t address) const { return address >= begin && address < end; }
  };

  // Reads which modules are loaded now.
  void refresh();

  // The segment of a module that `address` lies in, or null.
  const Range* find_loaded(std::uintptr_t address) const;

  // The address of an instruction, from its lower half: the one closest to `near` if several
  // modules have such an address.
  std::uintptr_t instruction(std::uint32_t lower_half, std::uintptr_t near) const;

 private:
  std::vector<Range> loaded_;
  std::vector<Range> code_;
};

}  // namespace recto::simt
