// Tests of the lists of cases, and by arithmetic, of the time that they take.

#include "cuda/bench/attention_cases.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "bazel/testing/catch.h"
#include "cuda/bench/counted_work.h"

namespace recto::bench {
namespace {

using Cases = std::vector<AttentionCase>;

bool has(const Cases& cases, const std::string& name) {
  return std::ranges::find(cases, name, &AttentionCase::name) != cases.end();
}

TEST_CASE("no benchmark case is listed twice") {
  for (const CaseSet set : {CaseSet::kDefault, CaseSet::kFull}) {
    const Cases cases = attention_cases(set);
    std::set<std::string> names;
    for (const AttentionCase& one : cases) names.insert(one.name);
    for (const StepCase& one : step_cases()) names.insert(one.name);
    CHECK(names.size() == cases.size() + step_cases().size());
  }
}

TEST_CASE("the document says how many cases there are by default") {
  std::ifstream file("docs/benchmarks.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::smatch said;
  REQUIRE(std::regex_search(text, said, std::regex("attention_benchmark` has ([0-9]+) cases")));
  const auto cases = attention_cases(CaseSet::kDefault).size() + step_cases().size();
  CHECK(std::stoul(said[1].str()) == cases);
}

TEST_CASE("no layer of a step finds K and V of another layer in L2") {
  constexpr std::int64_t kL2BytesMax = std::int64_t{128} << 20;  // more than any card has
  std::int64_t tried = 0;
  for (const StepCase& one : step_cases()) {
    if (one.kind != StepKind::kLaunchedLayers && one.kind != StepKind::kReplayedLayers) continue;
    INFO(one.name);
    const std::int64_t batches = turning_batches(one.shape, kLayers);
    CHECK((batches == kLayers || batches * one.shape.allocated_bytes() >= 2 * kL2BytesMax));
    ++tried;
  }
  CHECK(tried == 12);
}

TEST_CASE("as many batches take turns as fit into 2 GiB, and at least one") {
  const auto batches = [](std::int64_t context, std::int64_t most) {
    return turning_batches({.num_seqs = 1, .context_length = context}, most);
  };
  // 4 KiB per token: four batches of 131072 tokens are 2 GiB without q, out and tables.
  CHECK(batches(1024, 4) == 4);
  CHECK(batches(1024, 32) == 32);
  CHECK(batches(131000, 32) == 4);
  CHECK(batches(131072, 32) == 3);
  CHECK(batches(524288, 32) == 1);
}

TEST_CASE("the default set has every target shape, those of decode also contiguous") {
  const Cases cases = attention_cases(CaseSet::kDefault);
  for (const char* group : {"4", "8"}) {
    for (const char* point : {"batch:8/context:4096", "batch:64/context:4096",
                              "batch:64/context:16384", "batch:1/context:131072"}) {
      const std::string stem =
          std::string("decode/") + point + "/group:" + group + "/head_dim:128/types:bf16-bf16";
      CHECK(has(cases, stem + "/block:16"));
      CHECK(has(cases, stem + "/block:contiguous"));
    }
  }
  CHECK(
      has(cases,
          "prefill/batch:4/context:4096/rows:1024/group:4/head_dim:128/types:bf16-bf16/block:16"));
}

TEST_CASE("both sets cover the values of each axis") {
  for (const CaseSet set : {CaseSet::kDefault, CaseSet::kFull}) {
    std::set<std::int64_t> batches, contexts, groups, dims, blocks;
    std::set<KvLayout> layouts;
    std::set<ElementType> types;
    bool has_skewed = false;
    for (const AttentionCase& one : attention_cases(set)) {
      batches.insert(one.shape.num_seqs);
      contexts.insert(one.shape.context_length);
      groups.insert(one.shape.group);
      dims.insert(one.shape.head_dim);
      layouts.insert(one.shape.layout);
      types.insert(one.shape.kv_type);
      has_skewed = has_skewed || one.shape.lengths == Lengths::kSkewed;
      if (one.shape.placement == Placement::kScattered) blocks.insert(one.shape.block_size);
    }
    CHECK(*batches.begin() == 1);
    CHECK(*batches.rbegin() == 256);
    CHECK(*contexts.begin() == 128);
    CHECK(*contexts.rbegin() == 131072);
    CHECK(groups == std::set<std::int64_t>{1, 4, 8});
    CHECK(dims == std::set<std::int64_t>{64, 128, 256});
    CHECK(blocks == std::set<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256});
    CHECK(layouts.size() == 3);
    CHECK(types.size() == 3);
    CHECK(has_skewed);
  }
}

// For a card that copies 1 TB/s and multiplies 200 TFLOP/s, at half of both: less than any card
// that the aims are set for.
TEST_CASE("the default set takes less than 5 minutes, the full set more than an hour") {
  constexpr double kBytesPerSecond = 0.5e12;
  constexpr double kFlopsPerSecond = 100e12;
  constexpr double kRuns = 32;
  constexpr double kFlushedBytes = 256 << 20;
  const auto seconds = [](CaseSet set) {
    double sum = 0;
    for (const AttentionCase& one : attention_cases(set)) {
      const Work work = attention_work(one.shape);
      const double moved =
          work.bytes * (one.decode == DecodeChoice::kReference ? 36 : 1) + kFlushedBytes;
      const double once = std::max(moved / kBytesPerSecond, work.flops / kFlopsPerSecond);
      // Each case is sampled for about a second; its tensors are filled before.
      sum += std::min(kRuns * once, 1 + 5 * once) +
             static_cast<double>(one.shape.allocated_bytes()) / kBytesPerSecond;
    }
    // A padded gather reads, writes and reads again the padded contexts, four times as many as a
    // skewed batch has. Up to 2 GiB of batches, or one batch, are filled before, and the padded
    // copy as well.
    constexpr double kFilledBytes = 2.0 * (std::int64_t{2} << 30);
    for (const StepCase& one : step_cases()) {
      const double moved = attention_work(one.shape).bytes;
      const bool is_layers = one.kind != StepKind::kPaged && one.kind != StepKind::kPaddedGather;
      const double times = is_layers ? static_cast<double>(kLayers) : 3.0 * 4.0;
      const double once = (times * moved + kFlushedBytes) / kBytesPerSecond;
      const double filled = kFilledBytes + 2.0 * static_cast<double>(one.shape.allocated_bytes());
      sum += std::min(kRuns * once, 1 + 5 * once) + filled / kBytesPerSecond;
    }
    return sum;
  };
  CHECK(seconds(CaseSet::kDefault) < 300);
  CHECK(seconds(CaseSet::kFull) > 3600);
}

TEST_CASE("every default case fits a card of 24 GB") {
  for (const AttentionCase& one : attention_cases(CaseSet::kDefault)) {
    INFO(one.name);
    CHECK(one.shape.allocated_bytes() < std::int64_t{20} << 30);
  }
  // A padded batch in addition to the batch itself.
  for (const StepCase& one : step_cases()) {
    INFO(one.name);
    CHECK(2 * one.shape.allocated_bytes() < std::int64_t{20} << 30);
  }
}

}  // namespace
}  // namespace recto::bench
