#include "verify/simt/checks/program_memory.h"

#include <link.h>

namespace recto::simt {
namespace {

std::uintptr_t distance(std::uintptr_t a, std::uintptr_t b) { return a < b ? b - a : a - b; }

}  // namespace

void ProgramMemory::refresh() {
  loaded_.clear();
  code_.clear();
  const auto add = [](dl_phdr_info* module, std::size_t, void* self) {
    auto& memory = *static_cast<ProgramMemory*>(self);
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = module->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD) continue;
      const std::uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
      const Range range = {begin, begin + segment.p_memsz};
      memory.loaded_.push_back(range);
      if ((segment.p_flags & PF_X) != 0) memory.code_.push_back(range);
    }
    return 0;
  };
  dl_iterate_phdr(add, this);
}

std::uintptr_t ProgramMemory::instruction(std::uint32_t lower_half, std::uintptr_t near) const {
  std::uintptr_t best = lower_half;
  for (const Range& code : code_) {
    std::uintptr_t address = (code.begin & ~std::uintptr_t{0xffffffff}) | lower_half;
    // A module may begin below a multiple of 2^32 and end above it.
    if (address < code.begin) address += std::uintptr_t{1} << 32;
    // Return addresses may be one past the last instruction.
    if (address > code.end) continue;
    if (best == lower_half || distance(address, near) < distance(best, near)) best = address;
  }
  return best;
}

const ProgramMemory::Range* ProgramMemory::find_loaded(std::uintptr_t address) const {
  for (const Range& range : loaded_) {
    if (range.contains(address)) return &range;
  }
  return nullptr;
}

}  // namespace recto::simt
