#pragma once

// Memory that host and device reach at the same address.

#include <cstddef>

namespace recto::verify::gpu {

// At a multiple of 256 bytes; null without a GPU, or if it has no more.
void* managed_memory(std::size_t bytes);

}  // namespace recto::verify::gpu
