#include "verify/library/cuda_source/call_memory.h"

#include <stdexcept>
#include <utility>

namespace recto {

CallMemoryScope*& CallMemoryScope::innermost() {
  thread_local CallMemoryScope* scope = nullptr;
  return scope;
}

CallMemoryScope::CallMemoryScope(Allocate allocate)
    : allocate_(std::move(allocate)), before_(innermost()) {
  innermost() = this;
}

CallMemoryScope::~CallMemoryScope() { innermost() = before_; }

void* allocate_in_call(const std::string& name, std::size_t bytes) {
  const CallMemoryScope* scope = CallMemoryScope::innermost();
  if (scope == nullptr) {
    throw std::runtime_error(name + ": expected to be within CheckedCall::run()");
  }
  return bytes == 0 ? nullptr : scope->allocate_(name, bytes);
}

}  // namespace recto
