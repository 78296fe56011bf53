#pragma once

// Memory that host and device reach at the same address.

#include <cstddef>

namespace recto::verify::gpu {

// At a multiple of 256 bytes; null without a GPU, or if it has no more.
void* managed_memory(std::size_t bytes);
// Gives it back; false, and nothing else, if it is not managed.
bool free_managed_memory(void* memory);

// From now on operator new takes managed memory, where there is a GPU. What is there stays.
void manage_heap();
bool is_heap_managed();

}  // namespace recto::verify::gpu
