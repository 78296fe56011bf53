#include "verify/kernels/group_scores.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "reference/error_bound.h"
#include "reference/kv_cache_reader.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"
#include "reference/score_error.h"

namespace recto::verify {
namespace {

// The roundings in a score's bound: one sum over head_dim, in steps of k, and its scaling.
reference::KernelNumerics score_numerics(const simt::Arithmetic& arithmetic) {
  reference::KernelNumerics numerics;
  // fp16 and bf16 are multiplied without conversion, and products are exact.
  numerics.kv_read = 0.0;
  numerics.query_read = 0.0;
  numerics.score_sum = {.lanes = 1, .product_roundings = 0};
  if (arithmetic.matrix_sum == simt::MatrixSum::kTruncated) {
    numerics.score_sum.rounding = reference::AccumulatorRounding::kTruncate;
    numerics.score_sum.terms_per_step = arithmetic.products_per_step;
  }
  // store_scores: scale * sum.
  numerics.score_roundings = 1;
  return numerics;
}

// Compares one query head's scores for the keys of its context.
void expect_scores(const ElementPlace& head, const reference::ScoreErrors& expected,
                   const ScoreResults& results, ElementComparer& comparer) {
  ElementPlace place = head;
  for (std::int64_t key = 0; key < expected.scores.size(); ++key) {
    place.dim = key;
    const double probabilistic =
        expected.systematic[key] + reference::kProbabilisticLambda * expected.deviation[key];
    comparer.expect_within(place, {.seen = results.at(head.sequence, head.head, key),
                                   .expected = expected.scores[key],
                                   .bound = std::min(expected.worst_case[key], probabilistic)});
  }
  constexpr double kUnwritten = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t key = expected.scores.size(); key < results.max_context_length; ++key) {
    place.dim = key;
    comparer.expect_same_bits(place, results.at(head.sequence, head.head, key), kUnwritten);
  }
}

}  // namespace

Comparison compare_scores(const PagedAttentionInputs& inputs, const ScoreResults& results,
                          const simt::Arithmetic& arithmetic) {
  const reference::KernelNumerics numerics = score_numerics(arithmetic);
  ElementComparer comparer(inputs);
  // One query row per sequence, so a row's index is the sequence's.
  reference::for_each_kv_head(inputs, [&](const reference::KvHeadContext& context) {
    const reference::Vector coherence = reference::key_coherence(context.k);
    for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head) {
      const reference::Matrix q = reference::read_rows(inputs.q, head, context.first_row, 1);
      expect_scores({.tensor = ComparedTensor::kScore, .sequence = context.first_row, .head = head},
                    reference::score_errors(q.row(0), {context.k, coherence},
                                            {.scale = inputs.options.scale}, numerics),
                    results, comparer);
    }
  });
  return comparer.comparison();
}

}  // namespace recto::verify
