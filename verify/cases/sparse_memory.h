#pragma once

// Address space far larger than memory: a page takes up memory only once it is written.

#include <cstddef>

namespace recto::verify {

// Returns null, with errno set, if the system provides no more. Programs whose kernels run on a GPU
// replace these two functions (verify/kernels/gpu), as they do operator new: not every card can
// read memory that the host maps.
void* map_sparse_memory(std::size_t bytes);
void unmap_sparse_memory(void* memory, std::size_t bytes);

}  // namespace recto::verify
