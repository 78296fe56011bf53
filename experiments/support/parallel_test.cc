#include "experiments/support/parallel.h"

#include <atomic>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

TEST_CASE("every index is served once, by any number of threads") {
  for (const int threads : {-1, 1, 2, 8, 100}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{17}}) {
      std::vector<std::atomic<int>> served(count);
      for_each_index(count, threads, [&](std::size_t index) { ++served[index]; });
      for (const auto& times : served) CHECK(times == 1);
    }
  }
}

}  // namespace
}  // namespace recto::experiments
