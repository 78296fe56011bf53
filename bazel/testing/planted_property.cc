// A property with a planted defect, for replay_test.py.

#include <vector>

#include "bazel/testing/property.h"

TEST_CASE("planted") {
  rc::prop("vectors are short", [](const std::vector<int>& v) { RC_ASSERT(v.size() < 5u); });
}
