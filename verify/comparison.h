#pragma once

// Compares what a backend computed with the oracle, element by element: err <= bound, so that NaN
// fails. The first and the worst mismatch are located as (sequence, head, dim, block, slot).

#include <cstdint>
#include <optional>
#include <string>

#include "core/attention_views.h"
#include "reference/error_bound.h"
#include "reference/paged_attention.h"

namespace recto::verify {

enum class MismatchKind {
  kBeyondBound,
  kNaN,               // seen, where a number was expected
  kInfinity,          // seen, where a finite number was expected
  kExpectedInfinity,  // lse of a row without keys
};

// One element that is wrong.
struct Mismatch {
  MismatchKind kind = MismatchKind::kBeyondBound;
  bool is_lse = false;
  std::int64_t sequence = 0;
  std::int64_t row = 0;  // within the sequence
  std::int64_t head = 0;
  std::int64_t dim = 0;  // of out
  // Where the row's own token lies in the cache, if it has one.
  std::optional<std::int64_t> block;  // physical id
  std::optional<std::int64_t> slot;   // within the block
  double seen = 0.0;
  double expected = 0.0;
  double bound = 0.0;

  double ratio() const;  // error over bound; infinite where either is not a number

  std::string text() const;
};

struct Comparison {
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
  std::optional<Mismatch> first;
  std::optional<Mismatch> worst;  // by ratio
  double worst_ratio = 0.0;       // of all elements, wrong or not

  bool passed() const { return mismatches == 0; }
  std::string text() const;  // a readable block; "ok" with the worst ratio if all is well
};

// `bound` is bounds.hard or bounds.sharp, of bounded_attention(inputs, ...).
Comparison compare(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                   const reference::AttentionResult& expected,
                   const reference::AttentionResult& bound);

// Bit for bit; NaN equals NaN of the same bits.
Comparison compare_bits(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                        const reference::AttentionResult& expected);

}  // namespace recto::verify
