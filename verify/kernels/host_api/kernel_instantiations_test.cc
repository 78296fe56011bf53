// The supported types as text: exactly the pairs that each kernel supports.

#include "bazel/testing/catch.h"
#include "cuda/instantiations.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("kernels instantiated for types alone are listed with the type pairs that they serve") {
  const std::string written =
      "fp32/fp32, fp32/fp16, fp32/bf16, fp32/e4m3, fp32/e5m2, fp16/fp16, fp16/e4m3, fp16/e5m2, "
      "bf16/bf16, bf16/e4m3, bf16/e5m2";
  const std::string alike = "fp32/fp32, fp16/fp16, bf16/bf16, e4m3/e4m3, e5m2/e5m2";
  const std::string table = instantiation_table();
  CHECK_THAT(table,
             ContainsSubstring("| reference decode | fp32/fp32, fp16/fp16, fp16/e4m3, fp16/e5m2, "
                               "bf16/bf16, bf16/e4m3, bf16/e5m2 | 1 to 256, "));
  CHECK_THAT(table, ContainsSubstring("| KV write | " + written + " | any |\n"));
  CHECK_THAT(table, ContainsSubstring("| KV append | " + written + " | any |\n"));
  CHECK_THAT(table, ContainsSubstring("| gather | " + alike + " | any |\n"));
  CHECK_THAT(table, ContainsSubstring("| block copy, swap | " + alike + " | any |\n"));
}

}  // namespace
}  // namespace recto::verify
