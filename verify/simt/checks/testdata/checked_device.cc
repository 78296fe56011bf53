#include "verify/simt/checks/testdata/checked_device.h"

#include <cstring>
#include <vector>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/thread_block.h"

namespace recto::simt {
namespace {

struct BegunCopy {
  unsigned thread = 0;
  AsyncCopy copy = {};
};
std::vector<BegunCopy> begun;

}  // namespace

void begin_copy(void* destination, const void* source, int bytes) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  const auto size = static_cast<std::size_t>(bytes);
  const AsyncCopy copy = {source, destination, size, size,
                          reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))};
  thread.block->launch().observer->begin_copy(thread, copy);
  begun.push_back({thread.linear, copy});
}

void finish_copies() {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  for (const BegunCopy& one : begun) {
    if (one.thread != thread.linear) continue;
    std::memcpy(one.copy.destination, one.copy.source, one.copy.bytes);
    thread.block->launch().observer->finish_copy(thread, one.copy);
  }
  std::erase_if(begun, [&thread](const BegunCopy& one) { return one.thread == thread.linear; });
}

void release(const void* object) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  Observer& observer = *thread.block->launch().observer;
  observer.release(thread, object);
  observer.end_phase(*thread.block, object);
}

void acquire(const void* object) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  thread.block->launch().observer->acquire(thread, object);
}

void forget_copies() { begun.clear(); }

}  // namespace recto::simt
