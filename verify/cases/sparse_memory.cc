#include "verify/cases/sparse_memory.h"

#include <sys/mman.h>

namespace recto::verify {

// Weak symbols, so that a program can define its own.

[[gnu::weak]] void* map_sparse_memory(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

[[gnu::weak]] void unmap_sparse_memory(void* memory, std::size_t bytes) { munmap(memory, bytes); }

}  // namespace recto::verify
