#pragma once

// Memory at the same address on host and device.

#include <cstddef>

namespace recto::verify::gpu {

// Aligned to 256 bytes; null without a GPU, or if it has no memory left.
void* managed_memory(std::size_t bytes);
// Frees managed memory; returns false and does nothing for other memory.
bool free_managed_memory(void* memory);

// From now on operator new uses managed memory if there is a GPU. Existing allocations stay.
void manage_heap();
bool is_heap_managed();

}  // namespace recto::verify::gpu
