#pragma once

// Compares what a backend computed with what was expected, element by element: err <= bound, so
// that NaN fails, and an infinity equals only itself. The first and the worst mismatch are located
// as (sequence, head, dim, block, slot).

#include <cstdint>
#include <optional>
#include <string>

#include "core/attention_views.h"
#include "reference/paged_attention.h"

namespace recto::verify {

enum class MismatchKind {
  kBeyondBound,
  kNaN,               // seen, or what it is held against
  kInfinity,          // seen, where a finite number was expected
  kExpectedInfinity,  // lse of a row without keys
  kDifferentBits,
};

// What an element is of.
enum class ComparedTensor {
  kOut,
  kLseLn,
  kOutDifference,  // of dim and its right neighbour, in the law of the convex hull
  // Of a partial state (m, l, o).
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
  std::int64_t dim = 0;  // 0 where the tensor has none
};

struct ComparedValues {
  double seen = 0.0;
  double expected = 0.0;
  // Of |seen - expected|; not NaN, not negative, and of finite numbers not infinite.
  double bound = 0.0;
};

// One element that is wrong.
struct Mismatch {
  MismatchKind kind = MismatchKind::kBeyondBound;
  ElementPlace place;
  // Where the row's own token lies in the cache, if it has one.
  std::optional<std::int64_t> block;  // physical id
  std::optional<std::int64_t> slot;   // within the block
  ComparedValues values;

  double ratio() const;  // error over bound; infinite for all kinds but kBeyondBound

  std::string text() const;  // two lines
};

struct Comparison {
  std::int64_t elements = 0;
  std::int64_t by_bits = 0;  // of these, where no error is allowed
  std::int64_t mismatches = 0;
  std::optional<Mismatch> first;
  std::optional<Mismatch> worst;  // by ratio; of equals the first
  double worst_ratio = 0.0;       // of all elements, wrong or not

  bool passed() const { return mismatches == 0; }
  void append(const Comparison& later);
  std::string text() const;  // a readable block; "ok" with the worst ratio if all is well
};

// Collects a comparison of elements of one call's results.
class ElementComparer {
 public:
  // `inputs` must outlive it: its block table says where tokens lie.
  explicit ElementComparer(const PagedAttentionInputs& inputs) : inputs_(inputs) {}

  // |seen - expected| <= bound. The difference is taken in fp64.
  void expect_within(const ElementPlace& place, const ComparedValues& values);

  // The bits of the fp64 numbers; the bound is not looked at. NaN equals NaN of the same bits.
  void expect_same_bits(const ElementPlace& place, double seen, double expected);

  const Comparison& comparison() const { return comparison_; }

 private:
  void report(MismatchKind kind, const ElementPlace& place, const ComparedValues& values);

  const PagedAttentionInputs& inputs_;
  Comparison comparison_;
};

// `bound` is bounds.hard or bounds.sharp, of bounded_attention(inputs, ...). All three have the
// shape that `inputs` asks for. An infinite output stands for the smallest number that rounds to it
// in q's type.
Comparison compare(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                   const reference::AttentionResult& expected,
                   const reference::AttentionResult& bound);

Comparison compare_bits(const PagedAttentionInputs& inputs, const reference::AttentionResult& seen,
                        const reference::AttentionResult& expected);

}  // namespace recto::verify
