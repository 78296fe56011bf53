#pragma once

// The asynchronous copies (cp.async) of one thread. Their bytes arrive as late as allowed: at the
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
  // Makes the copies begun since the last commit a group.
  void commit() { ++group_; }
  // Delivers the bytes of all groups but the last `groups_left`, in the order of the requests.
  void wait(ThreadState& thread, unsigned groups_left);
  // Delivers all copies, whether they are in a group or not.
  void wait_for_all(ThreadState& thread);

 private:
  struct UnderWay {
    AsyncCopy copy;
    unsigned group = 0;
  };
  std::vector<UnderWay> copies_;  // the oldest first
  unsigned group_ = 0;            // of the next copy
};

// Delivers the bytes of the copy.
void finish(ThreadState& thread, const AsyncCopy& copy);

}  // namespace recto::simt
