// Negative controls for the laws of paging and of options: each law fails a faulty backend, and
// passes the correct ones on the same case.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/online_softmax.h"
#include "verify/laws/laws.h"
#include "verify/laws/testing/faulty_backends.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::SoftmaxState;

TEST_CASE("logical blocks taken for physical ones are caught") {
  expect_caught(
      physical_placement_law(), small_case(), wrong([](PagedAttentionInputs inputs) {
        std::vector<std::int32_t> row(static_cast<std::size_t>(inputs.block_table.max_blocks));
        std::iota(row.begin(), row.end(), 0);
        inputs.block_table.data = row.data();
        inputs.block_table.row_stride = 0;
        return reference::paged_attention(inputs);
      }));
}

TEST_CASE("a last bit that depends on a block's number is caught") {
  expect_caught(physical_placement_law(), small_case(), wrong([](PagedAttentionInputs inputs) {
                  AttentionResult result = reference::paged_attention(inputs);
                  if (inputs.block_table.data[0] % 2 == 1)
                    result.out[0] = std::nextafter(result.out[0], 1.0);
                  return result;
                }));
}

TEST_CASE(
    "a last bit that depends on a stride is caught unless strides are declared to select tiles") {
  Backend strided = wrong([](PagedAttentionInputs inputs) {
    AttentionResult result = reference::paged_attention(inputs);
    const double away = result.out[0] + 1;
    if (inputs.q.row_stride != inputs.q.num_heads * inputs.q.head_stride)
      result.out[0] = std::nextafter(result.out[0], away);
    return result;
  });
  expect_caught(physical_placement_law(), small_case(), strided);
  strided.capabilities.has_tiles_by_strides = true;
  const Law law = physical_placement_law();
  CHECK_FALSE(law.check(strided, small_case(), BoundKind::kWorstCase).failed());
}

TEST_CASE("a lost partial block is caught") {
  expect_caught(block_size_law(), small_case(),
                with_contexts([](std::int32_t length, std::int64_t block_size) {
                  return static_cast<std::int32_t>(length / block_size * block_size);
                }));
}

TEST_CASE("tiles declared as fixed that follow the block size are caught") {
  Backend online = backend_of("online-fp64");
  online.capabilities.has_fixed_tiles = true;
  expect_caught(block_size_law(), small_case(), online);
}

// The law does not apply to a backend whose split size cannot be set.
void expect_split_caught(const Merge& merge) {
  const Law law = split_size_law();
  const LawCase law_case = small_case();
  REQUIRE_FALSE(law.why_not_applicable(law_case));
  CHECK(law.check(backend_of("naive-fp64"), law_case, BoundKind::kWorstCase).skipped);
  for (const Backend& right : {backend_of("low-precision-fp32"), splitting(reference::merge)}) {
    const LawVerdict verdict = law.check(right, law_case, BoundKind::kProbabilistic);
    INFO(right.name << ", " << verdict.what << "\n" << verdict.comparison.text());
    CHECK_FALSE(verdict.skipped);
    CHECK_FALSE(verdict.failed());
    // Sizes and one split; rows, heads, dims and lse.
    CHECK(verdict.comparison.elements == (5 + 1) * 4 * 4 * (4 + 1));
  }
  const LawVerdict verdict = law.check(splitting(merge), law_case, BoundKind::kWorstCase);
  CHECK_FALSE(verdict.comparison.passed());
  CHECK(verdict.what == "splits of 1 keys");
}

TEST_CASE("splits merged without weights are caught") {
  expect_split_caught([](const SoftmaxState& a, const SoftmaxState& b) {
    SoftmaxState merged = a;
    merged.maximum = std::max(a.maximum, b.maximum);
    merged.sum += b.sum;
    merged.weighted += b.weighted;
    return merged;
  });
}

TEST_CASE("a lost split is caught even if it does not raise the maximum") {
  expect_split_caught([](const SoftmaxState& a, const SoftmaxState& b) {
    return b.maximum < a.maximum ? a : reference::merge(a, b);
  });
}

// Right except for a last bit that depends on the split size.
Backend telling_split_size() {
  Backend backend = splitting(reference::merge);
  backend.attend = [right = backend](const PagedAttentionInputs& inputs,
                                     const CallOptions& options) {
    AttentionResult result = result_of(right.call(inputs, options));
    if (options.split_size > 30) result.out[0] = std::nextafter(result.out[0], 10.0);
    return Done{result};
  };
  return backend;
}

TEST_CASE("a bit that depends on the length of a single split is caught") {
  // 21 keys: one split of 21, and one of 42.
  const LawVerdict verdict =
      split_size_law().check(telling_split_size(), small_case(), BoundKind::kWorstCase);
  CHECK(verdict.comparison.mismatches == 1);
  CHECK(verdict.what == "one split, as long as the context and longer");
}

TEST_CASE("a split size that a backend refuses is skipped, and the others are tried") {
  Backend choosy = splitting(reference::merge);
  const auto takes_multiples_of = [](std::int64_t size) {
    return [size](const PagedAttentionInputs&,
                  const CallOptions& options) -> std::optional<std::string> {
      if (options.split_size.value_or(0) % size == 0) return std::nullopt;
      return "no splits of " + std::to_string(*options.split_size);
    };
  };
  choosy.refusal = takes_multiples_of(16);
  const LawVerdict some = split_size_law().check(choosy, small_case(), BoundKind::kProbabilistic);
  CHECK_FALSE(some.skipped);
  CHECK(some.comparison.elements == 2 * 4 * 4 * (4 + 1));
  CHECK(some.skipped_parts ==
        std::vector<std::string>{
            "splits of 1 keys: no splits of 1", "splits of 33 keys: no splits of 33",
            "splits of 22 keys: no splits of 22",
            "one split: the backend with that split size does not support the case"});
  choosy.refusal = takes_multiples_of(1000);
  const LawVerdict none = split_size_law().check(choosy, small_case(), BoundKind::kProbabilistic);
  REQUIRE(none.skipped);
  CHECK(*none.skipped == "splits of 1 keys: no splits of 1");
}

TEST_CASE("heads mixed up in one layout are caught") {
  expect_caught(cache_layout_law(), small_case(), mishearing([](PagedAttentionInputs& inputs) {
                  if (inputs.kv.v.layout == KvLayout::kPacked) inputs.kv.v.head_stride = 0;
                }));
}

TEST_CASE("a bit that depends on the rows beside it is caught if rows are declared independent") {
  const auto run = [](const PagedAttentionInputs& inputs) {
    AttentionResult result = reference::paged_attention(inputs);
    const double away = result.out[0] + 1;
    if (inputs.query_start[1] > 1) result.out[0] = std::nextafter(result.out[0], away);
    return result;
  };
  expect_caught(chunking_law(), small_case(), wrong(run));
  Backend dependent = wrong(run);
  dependent.capabilities.has_independent_rows = false;
  CHECK_FALSE(chunking_law().check(dependent, small_case(), BoundKind::kWorstCase).failed());
}

TEST_CASE("rows that attend to later keys are caught") {
  expect_caught(chunking_law(), small_case(),
                mishearing([](PagedAttentionInputs& inputs) { inputs.options.causal = false; }));
}

// Reads one slot past the context, if that is still in the last block, with a weight of zero.
AttentionResult read_one_too_many(PagedAttentionInputs inputs) {
  AttentionResult result = reference::paged_attention(inputs);
  std::vector<std::int32_t> longer(inputs.context_length.begin(), inputs.context_length.end());
  for (std::int32_t& length : longer) length += length % inputs.kv.k.block_size == 0 ? 0 : 1;
  inputs.context_length = longer;
  const AttentionResult other = reference::paged_attention(inputs);
  for (std::size_t i = 0; i < result.out.size(); ++i) result.out[i] += 0.0 * other.out[i];
  return result;
}

TEST_CASE("a slot past the context that is read with a weight of zero is caught") {
  expect_caught(unaddressed_slots_law(), small_case(), wrong(read_one_too_many));
}

TEST_CASE(
    "a slot past the context that is read is caught whatever it holds, in K, in V or in both") {
  const LawVerdict verdict = unaddressed_slots_law().check(
      with_contexts([](std::int32_t length, std::int64_t block_size) {
        return static_cast<std::int32_t>(length + (length % block_size == 0 ? 0 : 1));
      }),
      small_case(), BoundKind::kWorstCase);
  const std::int64_t row_outs = 4 * 4;  // heads, dims
  CHECK(verdict.comparison.elements == 12 * 4 * (row_outs + 4));
  // The last row of each sequence reads the slot. All of its out changes with NaN, Inf and 1e4, in
  // K, V or both; finite garbage may be too small to differ from zeros.
  CHECK(verdict.comparison.mismatches >= 9 * 2 * row_outs);
}

// Reads all of the context, with a weight of zero for masked keys, as tiles of many rows do.
AttentionResult weigh_masked_keys(PagedAttentionInputs inputs) {
  AttentionResult result = reference::paged_attention(inputs);
  inputs.options.causal = false;
  inputs.options.window = std::nullopt;
  const AttentionResult all = reference::paged_attention(inputs);
  for (std::size_t i = 0; i < result.out.size(); ++i) result.out[i] += 0.0 * all.out[i];
  return result;
}

TEST_CASE("masked keys that are read with a weight of zero are caught") {
  expect_caught(masked_keys_law(), small_case(), wrong(weigh_masked_keys));
  LawCase decode = small_case();
  decode.problem.sequences.erase(decode.problem.sequences.begin());
  expect_caught(masked_keys_law(), decode, wrong(weigh_masked_keys));  // by a window
}

// Query head h reads KV head h % num_kv_heads instead of h / group.
AttentionResult with_interleaved_groups(PagedAttentionInputs inputs) {
  const std::int64_t num_kv_heads = inputs.kv.k.num_kv_heads;
  const std::int64_t group = inputs.q.num_heads / num_kv_heads;
  const auto taken_for = [&](std::int64_t head) {
    return head % num_kv_heads * group + head / num_kv_heads;
  };
  const auto* q = static_cast<const float*>(inputs.q.data);
  std::vector<float> moved(q, q + inputs.q.num_rows * inputs.q.row_stride);
  for (std::int64_t r = 0; r < inputs.q.num_rows; ++r)
    for (std::int64_t h = 0; h < inputs.q.num_heads; ++h)
      std::copy_n(q + r * inputs.q.row_stride + h * inputs.q.head_stride, inputs.q.head_dim,
                  moved.data() + r * inputs.q.row_stride + taken_for(h) * inputs.q.head_stride);
  inputs.q.data = moved.data();
  const AttentionResult mixed = reference::paged_attention(inputs);
  AttentionResult result = mixed;
  for (std::int64_t r = 0; r < mixed.num_rows; ++r) {
    for (std::int64_t h = 0; h < mixed.num_heads; ++h) {
      for (std::int64_t d = 0; d < mixed.head_dim; ++d)
        result.out_at(r, h, d) = mixed.out_at(r, taken_for(h), d);
      result.lse_ln[static_cast<std::size_t>(r * mixed.num_heads + h)] =
          mixed.lse_ln[static_cast<std::size_t>(r * mixed.num_heads + taken_for(h))];
    }
  }
  return result;
}

TEST_CASE("interleaved groups of heads are caught") {
  expect_caught(repeated_kv_heads_law(), small_case(), wrong(with_interleaved_groups));
}

TEST_CASE("a window one key too narrow is caught") {
  expect_caught(wide_window_law(), small_case(), mishearing([](PagedAttentionInputs& inputs) {
                  if (inputs.options.window) --*inputs.options.window;
                }));
}

TEST_CASE("a window beyond a kernel's int32 is caught") {
  // As position - window + 1 does in int32 arithmetic once window is beyond 2^31 - 2.
  expect_caught(wide_window_law(), small_case(), mishearing([](PagedAttentionInputs& inputs) {
                  if (inputs.options.window == std::numeric_limits<std::int32_t>::max())
                    inputs.options.window = 1;
                }));
}

TEST_CASE("a clipped soft cap is caught") {
  expect_caught(huge_softcap_law(), small_case(), mishearing([](PagedAttentionInputs& inputs) {
                  inputs.options.softcap = std::min(inputs.options.softcap, 50.0F);
                }));
}

TEST_CASE("0 / 0 in a row without keys is caught") {
  expect_caught(zero_context_law(), small_case(), misreporting([](AttentionResult& result) {
                  for (std::size_t i = 0; i < result.lse_ln.size(); ++i)
                    if (std::isinf(result.lse_ln[i]))
                      result.out_at(static_cast<std::int64_t>(i) / result.num_heads,
                                    static_cast<std::int64_t>(i) % result.num_heads, 0) =
                          std::numeric_limits<double>::quiet_NaN();
                }));
}

TEST_CASE("the largest negative number in place of -inf is caught") {
  expect_caught(zero_context_law(), small_case(), misreporting([](AttentionResult& result) {
                  for (double& lse_ln : result.lse_ln)
                    lse_ln = std::max<double>(lse_ln, std::numeric_limits<float>::lowest());
                }));
}

TEST_CASE("a sink lost by a row without keys is caught") {
  expect_caught(zero_context_law(), with_sinks(small_case()),
                wrong([](PagedAttentionInputs inputs) {
                  AttentionResult result = reference::paged_attention(inputs);
                  inputs.options.sinks = {};
                  const AttentionResult sinkless = reference::paged_attention(inputs);
                  for (std::size_t i = 0; i < result.lse_ln.size(); ++i)
                    if (std::isinf(sinkless.lse_ln[i])) result.lse_ln[i] = sinkless.lse_ln[i];
                  return result;
                }));
}

}  // namespace
}  // namespace recto::verify
