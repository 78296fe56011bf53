#include "experiments/support/remarks.h"

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

TEST_CASE("a remark names rows with a model's own window on and rows with it off") {
  const std::vector<RunConfig> mixed{windowed("contiguous-max"), windowed("paged"),
                                     windowed("paged"), windowed("prefix-cached")};
  const auto remarks = grid_remarks(mixed);
  REQUIRE(remarks.size() == 1);
  CHECK_THAT(remarks[0], ContainsSubstring("Mistral-7B, 4,096 tokens, is on for contiguous-max, "
                                           "paged and off for prefix-cached: "));
  CHECK_THAT(remarks[0], ContainsSubstring("--window 0"));
  CHECK(grid_remarks({mixed.data(), 3}).empty());
}

TEST_CASE("a remark says where several block sizes meet a linear model without a term for blocks") {
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

TEST_CASE("a single run without its model's window gets a remark, unless flags turn it off") {
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

TEST_CASE("step times of another card than --gpu are warned of") {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string results = (folder == nullptr ? std::string("/tmp") : folder) + "/cards";
  setenv("RECTO_GPU_RESULTS", results.c_str(), 1);
  const auto remarks_of = [&](const std::string& driver_name, const std::string& gpu) {
    REQUIRE(make_folder(results + "/CARD").is_ok());
    REQUIRE(write_file(results + "/CARD/attention.json",
                       R"({"context": {"gpu": ")" + driver_name +
                           R"(", "recto_commit": "none", "date": "2000-01-01"}, "benchmarks": [
         {"name": "decode/made-up", "group": 1, "head_dim": 128, "kv_element_bytes": 2,
          "block_size": 16, "contiguous": 0, "kv_bytes": 1, "flops": 1, "median_us": 1,
          "copy_GB_per_s": 1, "matrix_TFLOP_per_s": 1}]})")
                .is_ok());
    RunConfig config;
    config.gpu = gpu;
    config.pool_slots = 1000;  // whatever the card has room for
    config.time_model = "measured:CARD";
    return grid_remarks({&config, 1});
  };
  const auto remarks = remarks_of("NVIDIA H200", "H100");
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0] ==
        "WARNING: two cards in one run: --time-model measured:CARD was measured on 'NVIDIA H200', "
        "while memory and links are those of --gpu H100.");
  CHECK(remarks_of("NVIDIA L40S", "L4").size() == 1);
  CHECK(remarks_of("NVIDIA A100-SXM4-40GB", "A100-80").size() == 1);
  CHECK(remarks_of("NVIDIA A100-SXM4-80GB", "A100-80").empty());
  CHECK(remarks_of("NVIDIA H100 80GB HBM3", "h100").empty());
  CHECK(remarks_of("NVIDIA GeForce RTX 4090", "RTX 4090").empty());
  CHECK(remarks_of("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx_pro_6000").empty());
  unsetenv("RECTO_GPU_RESULTS");
}

}  // namespace
}  // namespace recto::experiments
