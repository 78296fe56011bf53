#include "sim/workloads/workload_specs.h"

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

TEST_CASE("decoding is read from its text and described by it") {
  CHECK(parse_decoding("single").value() == DecodingSpec{Decoding::kSingle, 1});
  CHECK(parse_decoding("parallel:4").value() == DecodingSpec{Decoding::kParallel, 4});
  CHECK(parse_decoding("beam:width=6").value() == DecodingSpec{Decoding::kBeam, 6});
  for (const char* text : {"single", "parallel:4", "beam:6"}) {
    CHECK(describe(parse_decoding(text).value()) == text);
  }
}

TEST_CASE("a width that cannot be is refused, and so is one without a kind for it") {
  for (const char* text : {"parallel:0", "beam:-1", "beam:1025", "beam:99999999999999", "beam",
                           "single:2", "greedy"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_decoding(text).is_ok());
  }
  CHECK_FALSE(check_decoding({Decoding::kSingle, 2}).is_ok());
}

}  // namespace
}  // namespace recto::sim
