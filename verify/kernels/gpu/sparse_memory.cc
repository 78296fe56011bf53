// Sparse memory that kernels on a GPU can access: managed once the heap is. Pages are allocated
// where they are first accessed, on the host or on the device.

#include "verify/cases/sparse_memory.h"

#include <sys/mman.h>

#include <cerrno>

#include "verify/kernels/gpu/managed_memory.h"

namespace recto::verify {

void* map_sparse_memory(std::size_t bytes) {
  if (gpu::is_heap_managed()) {
    void* const memory = gpu::managed_memory(bytes);
    if (memory == nullptr) errno = ENOMEM;
    return memory;
  }
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmap_sparse_memory(void* memory, std::size_t bytes) {
  if (gpu::is_heap_managed() && gpu::free_managed_memory(memory)) return;
  munmap(memory, bytes);
}

}  // namespace recto::verify
