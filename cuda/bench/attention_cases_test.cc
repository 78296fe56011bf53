// What the lists hold, and how long they may take, by arithmetic.

#include "cuda/bench/attention_cases.h"

#include <algorithm>
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

TEST_CASE("no case stands twice") {
  for (const CaseSet set : {CaseSet::kDefault, CaseSet::kFull}) {
    const Cases cases = attention_cases(set);
    std::set<std::string> names;
    for (const AttentionCase& one : cases) names.insert(one.name);
    CHECK(names.size() == cases.size());
  }
}

TEST_CASE("what is aimed at is measured by default, paged and contiguous") {
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

TEST_CASE("each axis has its values, in both sets") {
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

// Of a card that copies 1 TB/s and multiplies 200 TFLOP/s, at half of both: less than any that the
// aims are for.
TEST_CASE("the default takes minutes, the grid does not") {
  constexpr double kBytesPerSecond = 0.5e12;
  constexpr double kFlopsPerSecond = 100e12;
  constexpr double kRuns = 32;
  constexpr double kFlushedBytes = 256 << 20;
  const auto seconds = [](CaseSet set) {
    double sum = 0;
    for (const AttentionCase& one : attention_cases(set)) {
      const Work work = attention_work(one.shape);
      const double moved = work.bytes * (one.rung == Rung::kPlain ? 36 : 1) + kFlushedBytes;
      const double once = std::max(moved / kBytesPerSecond, work.flops / kFlopsPerSecond);
      // A second is enough of a case, and its tensors are filled before.
      sum += std::min(kRuns * once, 1 + 5 * once) +
             static_cast<double>(one.shape.allocated_bytes()) / kBytesPerSecond;
    }
    return sum;
  };
  CHECK(seconds(CaseSet::kDefault) < 300);
  CHECK(seconds(CaseSet::kFull) > 3600);
}

TEST_CASE("no default case needs more than a card of 24 GB has") {
  for (const AttentionCase& one : attention_cases(CaseSet::kDefault)) {
    INFO(one.name);
    CHECK(one.shape.allocated_bytes() < std::int64_t{20} << 30);
  }
}

}  // namespace
}  // namespace recto::bench
