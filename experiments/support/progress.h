#pragma once

// A line on standard error that is rewritten in place, on terminals only.

#include <cstddef>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

#include "experiments/support/terminal.h"

namespace recto::experiments {

class ProgressBar {
 public:
  // `out` outlives this object.
  ProgressBar(std::ostream& out, const Terminal& terminal, std::size_t total);
  ~ProgressBar();  // wipes the line

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
