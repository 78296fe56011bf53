#pragma once

// Memory that host code of a CUDA source allocates during a call, such as a framework's tensors.

#include <cstddef>
#include <functional>
#include <string>

namespace recto {

// Returns [bytes], aligned like cudaMalloc's, valid until the running call ends; null for 0 bytes.
// Throws std::runtime_error outside a call.
void* allocate_in_call(const std::string& name, std::size_t bytes);

// During its lifetime, determines where that memory comes from, for the calling OS thread.
class CallMemoryScope {
 public:
  using Allocate = std::function<void*(const std::string& name, std::size_t bytes)>;

  explicit CallMemoryScope(Allocate allocate);
  ~CallMemoryScope();
  CallMemoryScope(const CallMemoryScope&) = delete;
  CallMemoryScope& operator=(const CallMemoryScope&) = delete;

 private:
  friend void* allocate_in_call(const std::string& name, std::size_t bytes);

  static CallMemoryScope*& innermost();

  Allocate allocate_;
  CallMemoryScope* before_;
};

}  // namespace recto
