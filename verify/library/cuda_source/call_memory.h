#pragma once

// Memory that host code of a CUDA source allocates during a call, such as a framework's tensors.

#include <cstddef>
#include <string>

namespace recto {

// Returns [bytes], aligned like cudaMalloc's, valid until the running call ends; null for 0 bytes.
// Throws std::runtime_error outside a call.
void* allocate_in_call(const std::string& name, std::size_t bytes);

}  // namespace recto
