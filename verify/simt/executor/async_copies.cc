#include "verify/simt/executor/async_copies.h"

#include <algorithm>
#include <cstring>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/thread_block.h"

namespace recto::simt {

void finish(ThreadState& thread, const AsyncCopy& copy) {
  auto* destination = static_cast<std::byte*>(copy.destination);
  thread.is_in_call = true;
  // A source of no bytes may be null.
  if (copy.bytes > 0) std::memcpy(destination, copy.source, copy.bytes);
  std::memset(destination + copy.bytes, 0, copy.destination_bytes - copy.bytes);
  thread.is_in_call = false;
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->finish_copy(thread, copy);
}

void AsyncCopies::clear() {
  copies_.clear();
  group_ = 0;
}

void AsyncCopies::begin(ThreadState& thread, const AsyncCopy& copy) {
  copies_.push_back({copy, group_});
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->begin_copy(thread, copy);
}

void AsyncCopies::wait(ThreadState& thread, unsigned groups_left) {
  const auto is_covered = [&](const UnderWay& one) { return one.group + groups_left < group_; };
  const auto end = std::ranges::find_if_not(copies_, is_covered);
  for (auto one = copies_.begin(); one != end; ++one) finish(thread, one->copy);
  copies_.erase(copies_.begin(), end);
}

void AsyncCopies::wait_for_all(ThreadState& thread) {
  commit();
  wait(thread, 0);
}

}  // namespace recto::simt
