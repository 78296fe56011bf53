// A property with a planted defect, for replay_test.py.

#include "bazel/testing/property.h"

namespace recto {

TEST_CASE("planted") {
  property("lists are short", [](Draw& draw) {
    const std::size_t end = draw.uniform<std::size_t>(5, 20, "end");
    const auto list = draw.list([](Draw& entry) { return entry.growing(-50, 50); });
    RECTO_REQUIRE(list.size() < end);
  });
}

}  // namespace recto
