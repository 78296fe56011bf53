#include "verify/simt/executor/ready_set.h"

#include <set>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::simt {
namespace {

TEST_CASE("a ready set answers as an ordered set of numbers does") {
  RandomStream stream(7);
  ReadySet ready;
  std::set<unsigned> plain;
  for (int step = 0; step < 20000; ++step) {
    const auto thread = static_cast<unsigned>(stream.next_below(ReadySet::kThreadsMax));
    if (plain.count(thread) == 0) {
      plain.insert(thread);
      ready.insert(thread);
    } else {
      plain.erase(thread);
      ready.erase(thread);
    }
    REQUIRE(ready.size() == plain.size());
    REQUIRE(ready.empty() == plain.empty());
    if (plain.empty()) continue;
    const auto from = static_cast<unsigned>(stream.next_below(ReadySet::kThreadsMax));
    const auto after = plain.lower_bound(from);
    REQUIRE(ready.next_from(from) == (after == plain.end() ? *plain.begin() : *after));
    const auto beyond = plain.upper_bound(from);
    REQUIRE(ready.previous_from(from) ==
            (beyond == plain.begin() ? *plain.rbegin() : *std::prev(beyond)));
    const std::size_t rank = stream.next_below(plain.size());
    REQUIRE(ready.nth(static_cast<unsigned>(rank)) ==
            *std::next(plain.begin(), static_cast<std::ptrdiff_t>(rank)));
  }
}

TEST_CASE("lanes of a warp enter together") {
  ReadySet ready;
  ready.insert_lanes(3, 0x80000001);
  CHECK(ready.size() == 2);
  CHECK(ready.lanes(3) == 0x80000001);
  CHECK(ready.next_from(0) == 96);
  CHECK(ready.next_from(97) == 127);
}

}  // namespace
}  // namespace recto::simt
