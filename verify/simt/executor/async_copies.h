#pragma once

// The asynchronous copies (cp.async) of one thread. Their bytes arrive as late as they may: at the
// wait that covers them.

#include <vector>

#include "verify/simt/executor/observer.h"

namespace recto::simt {

class AsyncCopies {
 public:
  void clear();
  bool empty() const { return copies_.empty(); }
  const AsyncCopy& oldest() const { return copies_.front().copy; }

  void begin(ThreadState& thread, const AsyncCopy& copy);
  // Those begun since the last time are a group.
  void commit() { ++group_; }
  // The bytes of all groups but the last `groups_left` arrive, in the order they were asked for.
  void wait(ThreadState& thread, unsigned groups_left);
  // All of them, whether they are in a group or not.
  void wait_for_all(ThreadState& thread);

 private:
  struct UnderWay {
    AsyncCopy copy;
    unsigned group = 0;
  };
  std::vector<UnderWay> copies_;  // the oldest first
  unsigned group_ = 0;            // that the next one will be in
};

// Its bytes arrive.
void finish(ThreadState& thread, const AsyncCopy& copy);

}  // namespace recto::simt
