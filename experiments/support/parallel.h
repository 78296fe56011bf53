#pragma once

// Runs work for many indices on several threads, and shows its progress on a line.

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"

namespace recto::experiments {

// The default number of threads: all cores.
int default_threads();

// Calls `work` once per index in [0, count), at most `threads` at a time, lowest index first, and
// returns when all are done. `work` runs on any thread, and must not throw.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

// The results of `make` for all indices in [0, count), made in the same way; or the first failure,
// in the order of the indices.
template <typename Value>
Result<std::vector<Value>> make_all(std::size_t count, int threads,
                                    const std::function<Result<Value>(std::size_t)>& make) {
  std::vector<std::optional<Result<Value>>> made(count);
  for_each_index(count, threads, [&](std::size_t index) { made[index] = make(index); });
  std::vector<Value> values;
  for (std::optional<Result<Value>>& one : made) {
    RECTO_RETURN_IF_ERROR(one->status());
    values.push_back(std::move(*one).value());
  }
  return values;
}

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
