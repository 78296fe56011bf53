#pragma once

// Address space far larger than memory: a page of it takes memory when it is written.

#include <cstddef>

namespace recto::verify {

// Null, with errno set, where the system gives no more. Programs whose kernels run on a GPU have
// functions of their own in the place of these two (verify/gpu), as of operator new: not every card
// reads what the host maps.
void* map_sparse_memory(std::size_t bytes);
void unmap_sparse_memory(void* memory, std::size_t bytes);

}  // namespace recto::verify
