// What findings say of where they are.

#include "verify/ptx/machine/finding.h"

#include "bazel/testing/catch.h"

namespace recto::ptx {
namespace {

TEST_CASE("a place names its source line, the calls that were inlined, and its PTX line") {
  CodePlace place = {"a/load.cuh", 12, "tile.cuh:8, kernel.cu:40", 345, "ld.shared.f32"};
  CHECK(place.text() ==
        "a/load.cuh:12, inlined at tile.cuh:8, kernel.cu:40 (PTX line 345, ld.shared.f32)");
  place.inlined_at = "";
  CHECK(place.text() == "a/load.cuh:12 (PTX line 345, ld.shared.f32)");
  place.line = 0;
  CHECK(place.text() == "PTX line 345, ld.shared.f32");
}

}  // namespace
}  // namespace recto::ptx
