#include "verify/simt/executor/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "core/contract.h"
#include "verify/simt/fibers/fiber_sanitizer.h"

#ifdef RECTO_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace recto::simt {
namespace {

void poison([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef RECTO_SIMT_ASAN
  __asan_poison_memory_region(begin, bytes);
#endif
}

void unpoison([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef RECTO_SIMT_ASAN
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace

void SharedMemory::Unmap::operator()(std::byte* memory) const {
  unpoison(memory, kMemoryBytes);
  munmap(memory, kMemoryBytes);
}

void SharedMemory::begin(std::size_t dynamic_bytes) {
  if (memory_ == nullptr) {
    void* memory =
        mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RECTO_CHECK(memory != MAP_FAILED);
    memory_.reset(static_cast<std::byte*>(memory));
  }
  poison(memory_.get(), kMemoryBytes);
  placed_.clear();
  end_ = 0;
  static_bytes_ = 0;
  if (dynamic_bytes > 0) place(nullptr, dynamic_bytes, 1024);
}

std::byte* SharedMemory::variable(const SharedVariable& variable) {
  for (const Placed& placed : placed_) {
    if (placed.variable == &variable) return memory_.get() + placed.offset;
  }
  static_bytes_ += variable.bytes;
  if (static_bytes_ > kStaticBytesMax) return nullptr;
  return place(&variable, variable.bytes, variable.alignment);
}

std::byte* SharedMemory::place(const SharedVariable* variable, std::size_t bytes,
                               std::size_t alignment) {
  const std::size_t offset = (end_ + alignment - 1) / alignment * alignment;
  if (offset + bytes + kGapBytes > kMemoryBytes) return nullptr;
  placed_.push_back({variable, offset, bytes});
  end_ = offset + bytes + kGapBytes;
  std::byte* begin = memory_.get() + offset;
  unpoison(begin, bytes);
  std::memset(begin, 0xff, bytes);
  return begin;
}

}  // namespace recto::simt
