#include "experiments/support/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace recto::experiments {

int default_threads() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void for_each_index(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto serve = [&] {
    for (std::size_t index = next++; index < count; index = next++) work(index);
  };
  const std::size_t helpers =
      std::min(count, static_cast<std::size_t>(std::max(threads, 1))) - (count == 0 ? 0 : 1);
  std::vector<std::jthread> pool;
  for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(serve);
  serve();
}

}  // namespace recto::experiments
