#include "sim/scheduling/running_list.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

std::vector<GroupIndex> listed(const RunningList& list) {
  std::vector<GroupIndex> result;
  for (const GroupIndex index : list) result.push_back(index);
  return result;
}

TEST_CASE("the first insertion works for any index") {
  for (const GroupIndex index : {0, 1, 5}) {
    RunningList list;
    REQUIRE_NOTHROW(list.insert(index, 7));
    CHECK(listed(list) == std::vector<GroupIndex>{index});
  }
}

TEST_CASE("a running list has the order of a sorted vector") {
  property("for groups that join and leave in any order", [](Draw& draw) {
    RunningList list;
    std::vector<std::pair<std::int64_t, GroupIndex>> sorted;  // by request id
    std::vector<std::int64_t> ids(20);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * 7 % 20);
    for (const GroupIndex index :
         draw.list([](Draw& one) { return one.growing<GroupIndex>(0, 19); })) {
      const std::pair entry(ids[static_cast<std::size_t>(index)], index);
      const auto place = std::find(sorted.begin(), sorted.end(), entry);
      if (place == sorted.end()) {
        list.insert(index, entry.first);
        sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), entry), entry);
      } else {
        list.remove(index);
        sorted.erase(place);
      }
      std::vector<GroupIndex> expected;
      for (const auto& [id, group] : sorted) expected.push_back(group);
      RECTO_REQUIRE(listed(list) == expected);
      RECTO_REQUIRE(list.size() == static_cast<std::int64_t>(expected.size()));
      RECTO_REQUIRE(list.empty() == expected.empty());
      if (expected.empty()) continue;
      RECTO_REQUIRE(list.front() == expected.front());
      RECTO_REQUIRE(list.back() == expected.back());
    }
  });
}

}  // namespace
}  // namespace recto::sim
