#include "sim/traces/prefix_reuse.h"

#include <algorithm>
#include <list>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::sim {
namespace {

TEST_CASE("the key that was touched longest ago gives way") {
  LruSet set(2);
  set.touch(1);
  set.touch(2);
  set.touch(1);
  set.touch(3);
  CHECK(set.contains(1));
  CHECK_FALSE(set.contains(2));
  CHECK(set.contains(3));
  CHECK(set.size() == 2);
}

TEST_CASE("a set without room holds nothing") {
  LruSet set(0);
  set.touch(1);
  CHECK_FALSE(set.contains(1));
}

TEST_CASE("any sequence of touches leaves what a list would") {
  RandomStream random(7);
  for (const std::size_t capacity : {1, 2, 3, 10, 60}) {
    LruSet set(capacity);
    std::list<std::uint64_t> newest_first;
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t key = random.next_below(50);
      set.touch(key);
      newest_first.remove(key);
      newest_first.push_front(key);
      if (newest_first.size() > capacity) newest_first.pop_back();
      REQUIRE(set.size() == newest_first.size());
      for (std::uint64_t k = 0; k < 50; ++k) {
        const bool expected =
            std::find(newest_first.begin(), newest_first.end(), k) != newest_first.end();
        if (set.contains(k) != expected) FAIL("key " << k << " after step " << step);
      }
    }
  }
}

}  // namespace
}  // namespace recto::sim
