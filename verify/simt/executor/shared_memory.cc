#include "verify/simt/executor/shared_memory.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/contract.h"
#include "verify/simt/executor/finding.h"

namespace recto::simt {

void SharedMemory::Unmap::operator()(std::byte* memory) const {
  ASAN_UNPOISON_MEMORY_REGION(memory, kMemoryBytes);
  munmap(memory, kMemoryBytes);
}

void SharedMemory::begin(std::size_t dynamic_bytes) {
  if (memory_ == nullptr) {
    void* memory =
        mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RECTO_CHECK(memory != MAP_FAILED);
    memory_.reset(static_cast<std::byte*>(memory));
  }
  ASAN_POISON_MEMORY_REGION(memory_.get(), kMemoryBytes);
  placed_.clear();
  dynamic_bytes_ = dynamic_bytes;
  dynamic_ = nullptr;
  // Even an empty dynamic part has an address of its own, so touching it does not reach a variable.
  end_ = kDynamicAlignmentMax + dynamic_bytes + kGapBytes;
  static_bytes_ = 0;
}

std::byte* SharedMemory::dynamic(std::size_t alignment) {
  if (dynamic_ == nullptr) {
    // The memory begins at a page, so this is an odd multiple.
    const std::size_t offset = std::min(alignment, kDynamicAlignmentMax);
    placed_.insert(placed_.begin(), {nullptr, offset, dynamic_bytes_});
    dynamic_ = hand_out(offset, dynamic_bytes_);
  }
  return reinterpret_cast<std::uintptr_t>(dynamic_) % alignment == 0 ? dynamic_ : nullptr;
}

std::byte* SharedMemory::variable(const SharedVariable& variable) {
  for (const Placed& placed : placed_) {
    if (placed.variable == &variable) return memory_.get() + placed.offset;
  }
  static_bytes_ += variable.bytes;
  if (static_bytes_ > kStaticBytesMax || static_bytes_ + dynamic_bytes_ > kBytesMax) return nullptr;
  const std::size_t offset =
      (end_ + variable.alignment - 1) / variable.alignment * variable.alignment;
  if (offset + variable.bytes + kGapBytes > kMemoryBytes) return nullptr;
  placed_.push_back({&variable, offset, variable.bytes});
  end_ = offset + variable.bytes + kGapBytes;
  return hand_out(offset, variable.bytes);
}

std::byte* SharedMemory::hand_out(std::size_t offset, std::size_t bytes) {
  std::byte* begin = memory_.get() + offset;
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
  std::memset(begin, 0xff, bytes);
  return begin;
}

std::string SharedMemory::describe(std::uintptr_t address) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.get());
  const auto named = [begin](const Placed& placed) {
    const char* shared = placed.variable == nullptr ? "" : "shared ";
    return std::optional(NamedMemory{shared + placed.name(), begin + placed.offset, placed.bytes});
  };
  const Placed* before = placed_at(address - begin);
  const Placed* behind = before == nullptr ? placed_.data() : before + 1;
  const std::string text =
      address_text(address, before == nullptr ? std::nullopt : named(*before),
                   behind == placed_.data() + placed_.size() ? std::nullopt : named(*behind));
  return text.empty() ? "shared memory that belongs to no variable" : text;
}

}  // namespace recto::simt
