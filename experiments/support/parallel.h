#pragma once

// The same work for many indices, on several threads. What comes out must depend on the index
// alone, so that it is the same for any number of threads.

#include <cstddef>
#include <functional>

namespace recto::experiments {

// The number of threads if the user gives none: all cores.
int default_threads();

// Calls `work` once per index in [0, count), at most `threads` at a time, lowest index first, and
// returns when all are done. `work` runs on any thread, and must not throw.
void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace recto::experiments
