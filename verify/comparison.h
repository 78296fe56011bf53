#pragma once

// Compares what a backend computed with what was expected, element by element: err <= bound, so NaN
// fails, and an infinity equals only itself. The first and the worst mismatch are located as
// (sequence, head, dim, block, slot).

#include <cstdint>
#include <optional>
#include <string>

#include "core/attention_views.h"
#include "reference/paged_attention.h"

namespace recto::verify {

enum class MismatchKind {
  kBeyondBound,
  kNaN,               // in `seen` or in `expected`
  kInfinity,          // seen, where a finite number was expected
  kExpectedInfinity,  // lse of a row without keys
  kDifferentBits,
};

// The tensor that an element belongs to.
enum class ComparedTensor {
  kOut,
  kLseLn,
  kOutDifference,  // between dim and dim + 1, in the convex hull law
  // Components of a partial state (m, l, o).
  kStateMaximum,
  kStateSum,
  kStateWeighted,
  kScore,  // of a row and the key at position `dim`
};

struct ElementPlace {
  ComparedTensor tensor = ComparedTensor::kOut;
  std::int64_t sequence = 0;
  std::int64_t row = 0;  // within the sequence
  std::int64_t head = 0;
  std::int64_t dim = 0;  // 0 if the tensor has no dims
};

struct ComparedValues {
  double seen = 0.0;
  double expected = 0.0;
  // Upper bound of |seen - expected|; not NaN, not negative, and finite for finite numbers.
  double bound = 0.0;
};

// One incorrect element.
struct Mismatch {
  MismatchKind kind = MismatchKind::kBeyondBound;
  ElementPlace place;
  // Location of the row's own token in the cache, if it is cached.
  std::optional<std::int64_t> block;  // physical id
  std::optional<std::int64_t> slot;   // within the block
  ComparedValues values;

  double ratio() const;  // error over bound; infinite for all kinds but kBeyondBound

  std::string text() const;  // two lines
};

struct Comparison {
  std::int64_t elements = 0;
  std::int64_t by_bits = 0;  // elements compared bit for bit
  std::int64_t mismatches = 0;
  std::optional<Mismatch> first;
  std::optional<Mismatch> worst;  // by ratio; the first of equal ones
  double worst_ratio = 0.0;       // of all elements, wrong or not

  bool passed() const { return mismatches == 0; }
  void append(const Comparison& later);
  std::string text() const;  // several lines; "ok" and the worst ratio if there is no mismatch
};

// Accumulates a comparison of the elements of one call's results.
class ElementComparer {
 public:
  // `inputs` must outlive this object: its block table locates tokens.
  explicit ElementComparer(const PagedAttentionInputs& inputs) : inputs_(inputs) {}

  // Expects |seen - expected| <= bound, with the difference computed in fp64.
  void expect_within(const ElementPlace& place, const ComparedValues& values);

  // Expects equal bits of the fp64 numbers and ignores the bound. NaN equals NaN with the same
  // bits.
  void expect_same_bits(const ElementPlace& place, double seen, double expected);

  const Comparison& comparison() const { return comparison_; }

 private:
  void report(MismatchKind kind, const ElementPlace& place, const ComparedValues& values);

  const PagedAttentionInputs& inputs_;
  Comparison comparison_;
};

// `bound` is bounds.worst_case or bounds.probabilistic, of bounded_attention(inputs, ...). All
// three results have the shape that `inputs` imply. Where `seen` or `expected` has no lse_ln
// (empty), only out is compared. An infinite output counts as the smallest
// number that rounds to infinity in q's type.
Comparison compare(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                   const reference::AttentionResult& expected,
                   const reference::AttentionResult& bound);

Comparison compare_bits(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                        const reference::AttentionResult& expected);

}  // namespace recto::verify
