// What others do, for comparison: tests of the two usual kinds, on the same kernels under the same
// mutants. Neither looks at log-sum-exps, nor at what memory is touched.
//
// fixed tolerance, as engines test their kernels: seven sequences, K, V and Q uniform in +-scale,
// one seed, atol 1e-3; writes and copies of one shape, whole pools compared.
// factor two, as FlashAttention does: normal inputs, the largest error at most twice that of a
// plain run in the same types, plus 1e-5; causal, with a window, and with ALiBi.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/kv_cache_ops.h"
#include "reference/low_precision_attention.h"
#include "reference/paged_attention.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/host_api/host_api_backends.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/kernels/kernel_cache_ops.h"

namespace recto::verify {
namespace {

using Draw = double (*)(RandomStream& stream);

constexpr std::int64_t kHeadDim = 64;
const float kScale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));

double uniform(RandomStream& stream) { return (2.0 * stream.next_unit() - 1.0) * kScale; }

// Twelve uniform numbers less their mean: close enough for inputs.
double normal(RandomStream& stream) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += stream.next_unit();
  return sum;
}

std::vector<float> numbers(std::int64_t count, ElementType type, Draw draw, RandomStream& stream) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(reference::round_to(draw(stream), type)));
  }
  return values;
}

struct Batch {
  ElementType type;
  std::int64_t num_seqs;
  bool has_rows;  // several of each sequence
  Draw draw;
};

AttentionProblem problem_of(const Batch& batch) {
  RandomStream stream(0);
  AttentionProblem problem;
  problem.shape = {.num_q_heads = 8,
                   .num_kv_heads = 2,
                   .head_dim_k = kHeadDim,
                   .head_dim_v = kHeadDim,
                   .q_type = batch.type,
                   .kv_type = batch.type};
  problem.options.scale = kScale;
  for (std::int64_t i = 0; i < batch.num_seqs; ++i) {
    SequenceProblem sequence;
    sequence.context_length = 1 + static_cast<std::int64_t>(stream.next_below(200));
    sequence.num_rows = batch.has_rows ? std::min<std::int64_t>(sequence.context_length, 20) : 1;
    sequence.q = numbers(sequence.num_rows * 8 * kHeadDim, batch.type, batch.draw, stream);
    sequence.k = numbers(sequence.context_length * 2 * kHeadDim, batch.type, batch.draw, stream);
    sequence.v = numbers(sequence.context_length * 2 * kHeadDim, batch.type, batch.draw, stream);
    problem.sequences.push_back(sequence);
  }
  return problem;
}

std::vector<float> slopes() {
  std::vector<float> slopes;
  for (int head = 1; head <= 8; ++head) slopes.push_back(std::exp2(static_cast<float>(-head)));
  return slopes;
}

std::vector<Backend> backends() {
  return {reference_decode_backend({}), split_decode_backend({}, 64), gqa_decode_backend({}, 64),
          tma_decode_backend({}, 512),  paged_prefill_backend({}),    host_api_backend({}, {}),
          host_api_step_backend({}, {})};
}

// Blocks anywhere, and none that holds what is no number.
constexpr Placement kPlacement = {
    .layout = KvLayout::kHeadMajor, .garbage_beyond_table = false, .poison = Poison::kZero};

using reference::AttentionResult;

double largest_error(const AttentionResult& seen, const AttentionResult& expected) {
  double largest = 0.0;
  for (std::size_t i = 0; i < expected.out.size(); ++i) {
    const double error = std::abs(seen.out[i] - expected.out[i]);
    if (!(error <= largest)) largest = error;  // NaN stays
  }
  return largest;
}

// Each backend that serves the problem, against what is allowed.
template <typename Allowed>
void expect_close(const AttentionProblem& problem, const Allowed& allowed) {
  const PlacedProblem placed(problem, kPlacement);
  const AttentionResult expected = reference::paged_attention(placed.inputs());
  const double limit = allowed(placed.inputs(), expected);
  std::int64_t compared = 0;
  for (const Backend& backend : backends()) {
    if (backend.why_unsupported(placed.inputs())) continue;
    INFO(backend.name);
    CHECK(largest_error(result_of(backend.call(placed.inputs())), expected) <= limit);
    ++compared;
  }
  CHECK(compared > 0);
}

void expect_moved(ElementType type) {
  const reference::TestPoolShape shape = {.layout = KvLayout::kTokenMajor,
                                          .type = type,
                                          .num_blocks = 20,
                                          .block_size = 16,
                                          .num_kv_heads = 8,
                                          .head_dim = kHeadDim};
  reference::KvPool k(shape, 1);
  reference::KvPool v(shape, 2);
  reference::KvPool expected_k = k;
  reference::KvPool expected_v = v;
  const reference::RowPoolShape rows = {
      .type = type, .num_rows = 42, .num_heads = 8, .head_dim = kHeadDim};
  reference::RowPool new_k(rows, 3);
  reference::RowPool new_v(rows, 4);
  std::vector<std::int64_t> slots;
  for (std::int64_t token = 0; token < 42; ++token) slots.push_back(token * 37 % 320);
  KvWriteInputs inputs = {.k = new_k.const_view(), .v = new_v.const_view(), .slot_mapping = slots};
  const std::vector<BlockPair> pairs = {{0, 7}, {3, 12}, {5, 19}};
  inputs.kv = {.k = expected_k.view(), .v = expected_v.view()};
  reference::write_kv(inputs);
  reference::copy_blocks(inputs.kv, pairs);
  inputs.kv = {.k = k.view(), .v = v.view()};
  write_kv_by_kernel({}, inputs);
  copy_blocks_by_kernel({}, inputs.kv, pairs);
  CHECK((k.bytes() == expected_k.bytes()));
  CHECK((v.bytes() == expected_v.bytes()));
}

TEST_CASE("imitation: fixed tolerance") {
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16, ElementType::kFp32}) {
    for (const bool has_rows : {false, true}) {
      for (const bool has_alibi : {false, true}) {
        AttentionProblem problem =
            problem_of({.type = type, .num_seqs = 7, .has_rows = has_rows, .draw = uniform});
        if (has_alibi) problem.options.alibi_slopes = slopes();
        expect_close(problem, [](const auto&, const auto&) { return 1e-3; });
      }
    }
    expect_moved(type);
  }
}

TEST_CASE("imitation: factor two") {
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16}) {
    for (const bool has_rows : {false, true}) {
      for (const int option : {0, 1, 2}) {
        AttentionProblem problem =
            problem_of({.type = type, .num_seqs = 3, .has_rows = has_rows, .draw = normal});
        if (option == 1) problem.options.window = 33;
        if (option == 2) problem.options.alibi_slopes = slopes();
        expect_close(problem,
                     [](const PagedAttentionInputs& inputs, const AttentionResult& expected) {
                       const AttentionResult plain = reference::low_precision_attention(inputs, {});
                       return 2.0 * largest_error(plain, expected) + 1e-5;
                     });
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
