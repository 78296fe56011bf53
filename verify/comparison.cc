#include "verify/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/contract.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The kind of mismatch, or nothing. The order of checks ensures that `err <= bound` never meets inf
// - inf, and that an infinite bound never accepts an infinity.
std::optional<MismatchKind> judge(const ComparedValues& values) {
  if (std::isnan(values.seen) || std::isnan(values.expected)) return MismatchKind::kNaN;
  if (values.seen == values.expected) return std::nullopt;
  if (std::isinf(values.expected)) return MismatchKind::kExpectedInfinity;
  if (std::isinf(values.seen)) return MismatchKind::kInfinity;
  if (std::abs(values.seen - values.expected) <= values.bound) return std::nullopt;
  return MismatchKind::kBeyondBound;
}

// Requires values that are right or kBeyondBound.
double error_ratio(const ComparedValues& values) {
  if (values.seen == values.expected) return 0.0;
  const double error = std::abs(values.seen - values.expected);
  return values.bound > 0 ? error / values.bound : kInfinity;
}

const char* kind_text(MismatchKind kind) {
  switch (kind) {
    case MismatchKind::kBeyondBound:
      return "beyond the bound";
    case MismatchKind::kNaN:
      return "NaN";
    case MismatchKind::kInfinity:
      return "infinite";
    case MismatchKind::kExpectedInfinity:
      return "expected an infinity";
    case MismatchKind::kDifferentBits:
      return "different bits";
  }
  RECTO_UNREACHABLE("a kind of mismatch");
}

std::string place_text(const ElementPlace& place) {
  const std::string row =
      fmt::format("sequence {}, row {}, head {}", place.sequence, place.row, place.head);
  switch (place.tensor) {
    case ComparedTensor::kOut:
      return fmt::format("out[{}, dim {}]", row, place.dim);
    case ComparedTensor::kLseLn:
      return fmt::format("lse_ln[{}]", row);
    case ComparedTensor::kOutDifference:
      return fmt::format("out[{}, dim {}] - out[dim {}]", row, place.dim, place.dim + 1);
    case ComparedTensor::kStateMaximum:
      return fmt::format("m[{}]", row);
    case ComparedTensor::kStateSum:
      return fmt::format("l[{}]", row);
    case ComparedTensor::kStateWeighted:
      return fmt::format("o[{}, dim {}]", row, place.dim);
    case ComparedTensor::kScore:
      return fmt::format("score[{}, key {}]", row, place.dim);
  }
  RECTO_UNREACHABLE("a compared tensor");
}

void check_shape(const PagedAttentionInputs& inputs, const reference::AttentionResult& result) {
  RECTO_CHECK_EQ(result.num_rows, inputs.q.num_rows);
  RECTO_CHECK_EQ(result.num_heads, inputs.q.num_heads);
  RECTO_CHECK_EQ(result.head_dim, inputs.kv.v.head_dim);
}

// Calls visit(place, index) for each element; index is into out if place.tensor is kOut, else into
// lse_ln, which is left out if one of the results has none.
template <typename Visit>
void for_each_element(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                      const reference::AttentionResult& expected, Visit&& visit) {
  const bool has_lse_ln = !seen.lse_ln.empty() && !expected.lse_ln.empty();
  const std::int64_t num_heads = inputs.q.num_heads;
  const std::int64_t head_dim = inputs.kv.v.head_dim;
  for (std::size_t s = 0; s + 1 < inputs.query_start.size(); ++s) {
    for (std::int64_t r = inputs.query_start[s]; r < inputs.query_start[s + 1]; ++r) {
      for (std::int64_t h = 0; h < num_heads; ++h) {
        ElementPlace place{
            .sequence = static_cast<std::int64_t>(s), .row = r - inputs.query_start[s], .head = h};
        const auto head_index = static_cast<std::size_t>(r * num_heads + h);
        for (place.dim = 0; place.dim < head_dim; ++place.dim)
          visit(place, head_index * static_cast<std::size_t>(head_dim) +
                           static_cast<std::size_t>(place.dim));
        if (!has_lse_ln) continue;
        place.dim = 0;
        place.tensor = ComparedTensor::kLseLn;
        visit(place, head_index);
      }
    }
  }
}

double value_at(const reference::AttentionResult& result, ComparedTensor tensor,
                std::size_t index) {
  return tensor == ComparedTensor::kLseLn ? result.lse_ln[index] : result.out[index];
}

// An infinite output stands for all numbers that round to infinity in out's type: it is right if
// one of them is within the bound.
bool may_have_overflowed(const ComparedValues& values, double threshold) {
  return std::isinf(values.seen) && std::isfinite(values.expected) &&
         std::abs(std::copysign(threshold, values.seen) - values.expected) <= values.bound;
}

}  // namespace

double Mismatch::ratio() const {
  return kind == MismatchKind::kBeyondBound ? error_ratio(values) : kInfinity;
}

std::string Mismatch::text() const {
  const std::string token =
      block && slot ? fmt::format(", own token in block {}, slot {}", *block, *slot) : "";
  const std::string expected = kind == MismatchKind::kDifferentBits
                                   ? fmt::format("expected {:.17g} bit for bit", values.expected)
                                   : fmt::format("expected {:.17g}, bound {:.4g}, ratio {:.4g}",
                                                 values.expected, values.bound, ratio());
  return fmt::format("{}{}\n  seen {:.17g}, {}: {}", place_text(place), token, values.seen,
                     expected, kind_text(kind));
}

void Comparison::append(const Comparison& later) {
  if (!first) first = later.first;
  if (!worst || (later.worst && later.worst->ratio() > worst->ratio())) worst = later.worst;
  elements += later.elements;
  by_bits += later.by_bits;
  mismatches += later.mismatches;
  worst_ratio = std::max(worst_ratio, later.worst_ratio);
}

std::string Comparison::text() const {
  if (passed())
    return fmt::format("ok: {} elements, worst error {:.3g} of its bound", elements, worst_ratio);
  return fmt::format("{} of {} elements are wrong\nfirst {}\nworst {}", mismatches, elements,
                     first->text(), worst->text());
}

void ElementComparer::expect_within(const ElementPlace& place, const ComparedValues& values) {
  // Some bounds are computed from the observed value, and are numbers only if it is one.
  const bool are_numbers = !std::isnan(values.seen) && !std::isnan(values.expected);
  if (are_numbers) RECTO_CHECK(values.bound >= 0);  // NaN fails as well
  // An infinite bound would accept every error.
  const bool are_finite = std::isfinite(values.seen) && std::isfinite(values.expected);
  if (are_finite) RECTO_CHECK(std::isfinite(values.bound));
  ++comparison_.elements;
  const std::optional<MismatchKind> kind = judge(values);
  if (!kind || kind == MismatchKind::kBeyondBound)
    comparison_.worst_ratio = std::max(comparison_.worst_ratio, error_ratio(values));
  if (kind) report(*kind, place, values);
}

void ElementComparer::expect_same_bits(const ElementPlace& place, double seen, double expected) {
  ++comparison_.elements;
  ++comparison_.by_bits;
  if (std::bit_cast<std::uint64_t>(seen) == std::bit_cast<std::uint64_t>(expected)) return;
  report(MismatchKind::kDifferentBits, place, {.seen = seen, .expected = expected});
}

void ElementComparer::report(MismatchKind kind, const ElementPlace& place,
                             const ComparedValues& values) {
  Mismatch mismatch{.kind = kind, .place = place, .block = {}, .slot = {}, .values = values};
  const auto s = static_cast<std::size_t>(place.sequence);
  const std::int64_t num_rows = inputs_.query_start[s + 1] - inputs_.query_start[s];
  const std::int64_t position = inputs_.context_length[s] - num_rows + place.row;
  if (position >= 0) {
    const std::int64_t block_size = inputs_.kv.k.block_size;
    mismatch.block =
        inputs_.block_table
            .data[place.sequence * inputs_.block_table.row_stride + position / block_size];
    mismatch.slot = position % block_size;
  }
  ++comparison_.mismatches;
  comparison_.worst_ratio = std::max(comparison_.worst_ratio, mismatch.ratio());
  if (!comparison_.first) comparison_.first = mismatch;
  if (!comparison_.worst || mismatch.ratio() > comparison_.worst->ratio())
    comparison_.worst = mismatch;
}

Comparison compare(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                   const reference::AttentionResult& expected,
                   const reference::AttentionResult& bound) {
  for (const reference::AttentionResult* result : {&seen, &expected, &bound})
    check_shape(inputs, *result);
  const double threshold = reference::overflow_threshold(inputs.q.type);
  ElementComparer comparer(inputs);
  for_each_element(inputs, seen, expected, [&](const ElementPlace& place, std::size_t index) {
    ComparedValues values{.seen = value_at(seen, place.tensor, index),
                          .expected = value_at(expected, place.tensor, index),
                          .bound = value_at(bound, place.tensor, index)};
    if (place.tensor == ComparedTensor::kOut && may_have_overflowed(values, threshold)) {
      values.seen = std::copysign(threshold, values.seen);
    }
    comparer.expect_within(place, values);
  });
  return comparer.comparison();
}

Comparison compare_bits(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                        const reference::AttentionResult& expected) {
  for (const reference::AttentionResult* result : {&seen, &expected}) check_shape(inputs, *result);
  ElementComparer comparer(inputs);
  for_each_element(inputs, seen, expected, [&](const ElementPlace& place, std::size_t index) {
    comparer.expect_same_bits(place, value_at(seen, place.tensor, index),
                              value_at(expected, place.tensor, index));
  });
  return comparer.comparison();
}

}  // namespace recto::verify
