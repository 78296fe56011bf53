#include "reference/coherence.h"

#include <vector>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

TEST_CASE("the most frequent magnitude is counted") {
  CHECK(multiplicity({}) == 0);
  CHECK(multiplicity(std::vector<double>{1.5}) == 1);
  CHECK(multiplicity(std::vector<double>{1, 2, 3, 4}) == 1);
  CHECK(multiplicity(std::vector<double>{1, 2, 1, -1, 2}) == 3);
  CHECK(multiplicity(std::vector<double>{0.0, -0.0}) == 2);
}

TEST_CASE("values that differ in the last bit are different") {
  CHECK(multiplicity(std::vector<double>{1.0, 1.0 + 0x1p-52}) == 1);
}

}  // namespace
}  // namespace recto::reference
