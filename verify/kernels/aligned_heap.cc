// operator new for programs that count sectors: every allocation is aligned to 256 bytes, as by
// cudaMalloc, so that counts do not depend on heap addresses.

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kAlignment = 256;

void* allocate(std::size_t bytes) {
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, whole == 0 ? kAlignment : whole);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

// Over-aligned types keep the library's own operators.
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
