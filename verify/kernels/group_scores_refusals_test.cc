// The score kernel refuses unsupported calls by name, before anything is written.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "bazel/testing/catch.h"
#include "core/status.h"
#include "verify/cases/case_generator.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/kernel_calls.h"

namespace recto::verify {
namespace {

using kernels::GroupScoresParams;

// The largest supported call: sixteen heads, 256 dims. With a change applied, it returns an error
// and writes nothing, or it writes.
class Launch {
 public:
  using Change = std::function<void(GroupScoresParams&)>;

  std::string operator()(const Change& change) const {
    ScoreResults results(placed_.inputs());
    const PagedAttentionInputs& inputs = placed_.inputs();
    GroupScoresParams params = {.q = inputs.q,
                                .k = inputs.kv.k,
                                .block_table = inputs.block_table,
                                .context_length = inputs.context_length.data(),
                                .max_context_length = results.max_context_length,
                                .scores = results.scores.data()};
    change(params);
    simt::Executor executor({});
    simt::Stream stream(executor);
    const Status launched = kernels::launch_group_scores(params, &stream);
    REQUIRE(stream.synchronise().passed());
    const bool has_written =
        std::ranges::any_of(results.scores, [](float score) { return !std::isnan(score); });
    CHECK(has_written == launched.is_ok());
    return launched.is_ok() ? "served" : launched.message();
  }

 private:
  static CaseSpec largest() {
    CaseSpec spec;
    spec.shape = {.num_q_heads = kernels::kGroupMax,
                  .num_kv_heads = 1,
                  .head_dim_k = 256,
                  .head_dim_v = 16,
                  .q_type = ElementType::kFp16,
                  .kv_type = ElementType::kFp16};
    spec.sequences = {{.context_length = 20}};
    spec.q = spec.k = spec.v = FloatFamily::kNormal;
    spec.placement = {.block_size = 16};
    spec.options.scale = 0.125F;
    return spec;
  }

  PlacedProblem placed_{make_problem(largest()), largest().placement};
};

TEST_CASE("unsupported calls are refused by name, before anything is written") {
  const Launch launch;
  CHECK(launch([](GroupScoresParams&) {}) == "served");
  CHECK(launch([](auto& params) { params.q.type = params.k.type = ElementType::kFp32; }) ==
        "q.type: expected fp16 or bf16, got fp32");
  CHECK(launch([](auto& params) { params.q.type = ElementType::kE4m3; }) ==
        "q.type: expected fp16 or bf16, got e4m3");
  CHECK(launch([](auto& params) { params.k.type = ElementType::kBf16; }) ==
        "k.type: expected fp16 as in q.type, got bf16");
  CHECK(launch([](auto& params) { params.q.type = params.k.type = ElementType::kBf16; }) ==
        "served");
  CHECK(launch([](auto& params) { params.k.layout = KvLayout::kPacked; }) ==
        "k.layout: expected token-major or head-major, got packed");
  for (const std::int64_t head_dim : {8, 40, 255, 272}) {
    CHECK(launch([&](auto& params) { params.q.head_dim = params.k.head_dim = head_dim; }) ==
          "k.head_dim: expected a multiple of 16, at most 256, got " + std::to_string(head_dim));
  }
  for (const std::int64_t head_dim : {16, 48, 240}) {
    CHECK(launch([&](auto& params) { params.q.head_dim = params.k.head_dim = head_dim; }) ==
          "served");
  }
  CHECK(launch([](auto& params) { params.q.num_heads = 17; }) ==
        "q.num_heads: expected at most 16, got 17");
}

TEST_CASE("rows of queries and of keys must begin at multiples of 16 bytes") {
  const Launch launch;
  const std::string at = ".data: expected an address at a multiple of 16 bytes, got ";
  const std::string by = ": expected a multiple of 8, of 16 bytes, got ";
  const auto shifted = [](const void* data, std::int64_t bytes) -> const void* {
    return static_cast<const std::byte*>(data) + bytes;
  };
  // Fewer dims, so that an aligned change stays within the row.
  const auto with = [&](const Launch::Change& change) {
    return launch([&](GroupScoresParams& params) {
      params.q.head_dim = params.k.head_dim = 128;
      change(params);
    });
  };
  CHECK(with([&](auto& params) { params.q.data = shifted(params.q.data, 8); }) ==
        "q" + at + "8 bytes behind one");
  CHECK(with([&](auto& params) { params.q.data = shifted(params.q.data, 16); }) == "served");
  CHECK(with([](auto& params) { params.q.row_stride -= 4; }) == "q.row_stride" + by + "4092");
  CHECK(with([](auto& params) { params.q.head_stride -= 4; }) == "q.head_stride" + by + "252");
  CHECK(with([](auto& params) { params.q.head_stride -= 8; }) == "served");
  CHECK(with([&](auto& params) { params.k.data = shifted(params.k.data, 2); }) ==
        "k" + at + "2 bytes behind one");
  CHECK(with([&](auto& params) { params.k.data = shifted(params.k.data, 16); }) == "served");
  CHECK(with([](auto& params) { params.k.block_stride -= 4; }) == "k.block_stride" + by + "4092");
  CHECK(with([](auto& params) { params.k.head_stride -= 4; }) == "k.head_stride" + by + "252");
  CHECK(with([](auto& params) { params.k.slot_stride -= 4; }) == "k.slot_stride" + by + "252");
  CHECK(with([](auto& params) { params.k.slot_stride -= 8; }) == "served");
}

TEST_CASE("a call without sequences succeeds") {
  const GroupScoresParams none = {
      .q = {.type = ElementType::kFp16, .num_heads = 1, .head_dim = 16},
      .k = {.type = ElementType::kFp16, .block_size = 1, .num_kv_heads = 1, .head_dim = 16}};
  simt::Executor executor({});
  simt::Stream stream(executor);
  CHECK(kernels::launch_group_scores(none, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
}

}  // namespace
}  // namespace recto::verify
