#include "verify/cases/reason_kind.h"

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

TEST_CASE("a reason's kind omits numbers, but keeps names that have digits") {
  CHECK(reason_kind("kv.v.head_dim: expected 16 as in kv.k.head_dim, got 8") ==
        "kv.v.head_dim: expected * as in kv.k.head_dim, got *");
  CHECK(reason_kind("q is not fp16") == "q is not fp16");
  CHECK(reason_kind("fp32/e4m3 with 64, 128") == "fp32/e4m3 with *, *");
  CHECK(reason_kind("beyond 2^31 elements") == "beyond 2^31 elements");
  CHECK(reason_kind("4") == "*");
  CHECK(reason_kind("").empty());
}

}  // namespace
}  // namespace recto::verify
