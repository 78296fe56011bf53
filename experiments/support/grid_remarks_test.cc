#include "experiments/support/grid_remarks.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/support/output_file.h"

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

TEST_CASE("block sizes under a linear model without a term for blocks are told") {
  const auto remarks_with = [](const std::string& more, std::vector<std::int64_t> sizes) {
    const char* folder = std::getenv("TEST_TMPDIR");
    const std::string path = (folder == nullptr ? std::string("/tmp") : folder) + "/fit.json";
    REQUIRE(write_file(path, R"({"source": "a test", "fixed_ns": 1, "per_prefill_token_ns": 1,)"
                             R"( "per_kv_token_ns": 1, "per_sequence_ns": 1)" +
                                 more + "}")
                .is_ok());
    std::vector<RunConfig> configs(sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      configs[i].time_model = "linear:" + path;
      configs[i].block_size = sizes[i];
    }
    return grid_remarks(configs);
  };
  const auto remarks = remarks_with("", {1, 16});
  REQUIRE(remarks.size() == 1);
  CHECK_THAT(remarks[0], ContainsSubstring("do not depend on the block size"));
  CHECK_THAT(remarks[0], ContainsSubstring("has no per_kv_block_ns"));
  CHECK(remarks_with("", {16, 16}).empty());
  CHECK(remarks_with(R"(, "per_kv_block_ns": 5)", {1, 16}).empty());
  std::vector<RunConfig> roofline(2);
  roofline[1].block_size = 1;
  CHECK(grid_remarks(roofline).empty());
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
