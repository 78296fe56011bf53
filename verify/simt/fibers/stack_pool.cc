#include "verify/simt/fibers/stack_pool.h"

#include <sys/mman.h>

namespace recto::simt {

std::size_t default_stack_bytes() {
#ifdef RECTO_SIMT_ANNOUNCES_SWITCHES
  return 256 << 10;
#else
  return 64 << 10;
#endif
}

StackPool::~StackPool() {
  for (const StackMemory& stack : stacks_) {
    munmap(stack.bottom - kStackGuardBytes, stack.bytes + kStackGuardBytes);
  }
}

bool StackPool::reserve(std::size_t count) {
  while (stacks_.size() < count) {
    void* memory = mmap(nullptr, stack_bytes_ + kStackGuardBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (mprotect(memory, kStackGuardBytes, PROT_NONE) != 0) {
      munmap(memory, stack_bytes_ + kStackGuardBytes);
      return false;
    }
    stacks_.push_back({static_cast<std::byte*>(memory) + kStackGuardBytes, stack_bytes_});
  }
  return true;
}

}  // namespace recto::simt
