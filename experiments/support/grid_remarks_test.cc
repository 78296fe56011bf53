#include "experiments/support/grid_remarks.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

RunConfig windowed(const std::string& allocator) {
  RunConfig config;
  config.model = "Mistral-7B";
  config.gpu = "H100";
  config.allocator = allocator;
  return config;
}

TEST_CASE("a model's own window that is on in some rows and off in others is told") {
  const std::vector<RunConfig> mixed{windowed("contiguous-max"), windowed("paged"),
                                     windowed("paged"), windowed("prefix-cached")};
  const auto remarks = grid_remarks(mixed);
  REQUIRE(remarks.size() == 1);
  CHECK_THAT(remarks[0], ContainsSubstring("Mistral-7B, 4,096 tokens, is on for contiguous-max, "
                                           "paged and off for prefix-cached: "));
  CHECK_THAT(remarks[0], ContainsSubstring("--window 0"));
  CHECK(grid_remarks({mixed.data(), 3}).empty());
}

TEST_CASE("a single run without its model's window tells it; one that was told to has nothing to") {
  RunConfig config = windowed("paged");
  config.decoding = "parallel:2";
  const auto remarks = grid_remarks({&config, 1});
  REQUIRE(remarks.size() == 1);
  CHECK_THAT(remarks[0], ContainsSubstring("4,096 tokens, is off for paged with parallel:2: "));
  config.window = 0;
  CHECK(grid_remarks({&config, 1}).empty());
  const RunConfig opt;
  CHECK(grid_remarks({&opt, 1}).empty());
}

}  // namespace
}  // namespace recto::experiments
