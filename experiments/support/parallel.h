#pragma once

// Runs work for many indices on several threads, and shows its progress on a line.

#include <cstddef>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

#include "experiments/support/command.h"

namespace recto::experiments {

// The default number of threads: all cores.
int default_threads();

// Calls `work` once per index in [0, count), at most `threads` at a time, lowest index first, and
// returns when all are done. `work` runs on any thread, and must not throw.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

class ProgressBar {
 public:
  // `out` outlives this object.
  ProgressBar(std::ostream& out, const Terminal& terminal, std::size_t total);
  ~ProgressBar();  // clears the line

  // Counts one more as done; `what` is shown beside the bar. May be called from any thread.
  void advance(std::string_view what);

 private:
  std::ostream& out_;
  Terminal terminal_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::mutex mutex_;
};

}  // namespace recto::experiments
