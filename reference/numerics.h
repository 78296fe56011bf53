#pragma once

// Describes how a kernel computes, as far as its rounding errors depend on it.
// reference/error_bound.h turns this into bounds; docs/numerics.md derives the bounds and cites the
// source of each constant.

#include <cstdint>
#include <optional>

#include "core/element_type.h"

namespace recto::reference {

enum class AccumulatorRounding {
  kNearest,   // each addition to nearest: fp32 FMA and add
  kTruncate,  // a step aligns its terms to the largest and truncates, as tensor cores do
};

// One kind of sum. A step adds `terms_per_step` terms to a partial sum; `lanes` partial sums run
// side by side and are added in a tree.
struct Accumulation {
  double unit_roundoff = 0x1p-24;
  std::int64_t lanes = 1;
  std::int64_t terms_per_step = 1;
  AccumulatorRounding rounding = AccumulatorRounding::kNearest;
  std::int64_t product_roundings = 0;  // 0 for FMA and tensor cores, 1 for multiply, then add

  friend bool operator==(const Accumulation&, const Accumulation&) = default;
};

// Errors of an exponential: |computed / exp(x) - 1| <= relative + relative_slope * |x|, and results
// up to `flush` may become 0.
struct ExponentialError {
  double relative = 0x1p-23;
  double relative_slope = 0.0;
  double flush = 0x1p-149;

  friend bool operator==(const ExponentialError&, const ExponentialError&) = default;
};

// Which P the sum l adds: P as computed, or P as rounded for the product with V.
enum class SummedWeights { kUnrounded, kRounded };

// How the partial results of splits are merged: as (m, l, o), or each normalised, with its
// log-sum-exp.
enum class SplitMerge { kState, kNormalised };

// Which keys one pass sees: consecutive keys, forwards or backwards; or an ordered subset (as when
// each lane takes every other tile).
enum class TileOrder { kConsecutive, kUnknown };

struct KernelNumerics {
  double unit_roundoff = 0x1p-24;  // of the arithmetic between the sums
  double underflow = 0x1p-149;     // absolute, of one operation; 2^-126 if subnormals are flushed

  double input_flush =
      0.0;  // q, K and V below it may be read as 0: 2^-126 if subnormals are flushed

  double kv_read = 0.0;  // relative error of an element of K or V as it is read (fp8 scales)
  double kv_read_underflow = 0.0;  // absolute, beside `underflow`: where the type read is subnormal
  double query_read = 0.0;         // relative, if q is scaled and rounded before the product

  Accumulation score_sum = {};     // over head_dim_k
  double score_roundings = 1;      // of a score after the sum: times scale
  double shared_scale = 0.0;       // relative error of the scale itself, the same for all keys
  double softcap_roundings = 1;    // before tanh (x / cap), and as many after it (cap * tanh)
  double tanh_relative = 0x1p-22;  // 2 ulp
  double bias_roundings = 1;       // slope * distance; the addition is counted apart

  // Roundings, each relative to a score's magnitude, in forming the argument of one exponential: 0
  // for exp(s - m), 2 where s * log2(e) and m * log2(e) are rounded before the subtraction.
  double argument_roundings = 0;
  ExponentialError exponential = {};
  // The type that P is rounded to for the product with V; nullopt: it stays as computed.
  std::optional<ElementType> weight_type = {};
  SummedWeights summed_weights = SummedWeights::kUnrounded;

  // The types that each product of a weight and a value, and each split's output, is rounded to;
  // nullopt: they stay as computed.
  std::optional<ElementType> product_type = {};
  std::optional<ElementType> partial_type = {};

  Accumulation weight_sum = {};  // l, over the keys of a tile
  Accumulation output_sum = {};  // o, over the keys of a tile
  std::int64_t tile_size = 1;
  TileOrder tile_order = TileOrder::kConsecutive;
  std::int64_t split_size = 0;  // keys of one split; 0: no splits
  // 0: any number of splits. Otherwise splits are the least multiple of split_size with which no
  // context has more than this many.
  std::int64_t max_splits = 0;
  std::int64_t state_merges = 0;  // of lanes or warps within a pass: one per level of the tree
  SplitMerge split_merge = SplitMerge::kState;
  double lse_ln_roundings = 3;  // of lse, as large as itself or the largest score

  double normalisation_roundings = 2;  // o * (1 / l)
  double log_relative = 0x1p-23;       // 1 ulp
  double log_absolute = 0.0;           // near log(1) = 0, for functions whose error is absolute
  std::optional<ElementType> output_type =
      {};  // nothing: the result is not rounded (the reference's)

  // The keys of one split of a row that sees n keys; n without splits.
  std::int64_t keys_per_split(std::int64_t n) const;

  friend bool operator==(const KernelNumerics&, const KernelNumerics&) = default;
};

// The numerics of the fp64 reference itself, streaming over tiles of `tile_size` keys.
KernelNumerics fp64_numerics(std::int64_t tile_size);

// Charges the dequantisation of fp8 codes: code times scale is rounded to fp32 and then, if `type`
// is a different type, to `type` (as in kernels that feed tensor cores).
void set_dequantisation(ElementType type, KernelNumerics& numerics);

// The fixed profile that third-party kernels are judged by, for a type of q: tensor cores that
// truncate, P and dequantised fp8 rounded to q's type, and exponentials and tanh computed by the
// fast instructions.
KernelNumerics third_party_numerics(ElementType q_type, ElementType kv_type);

enum class DeclaredExponential {
  kApproximate,  // the fast instruction, as in the profile
  kExact,        // within one unit in the last place
};

// What the author of a kernel declares in place of a part of the profile; nullopt: as the profile.
struct DeclaredNumerics {
  std::optional<ElementType> weights = {};     // KernelNumerics::weight_type; fp32: not rounded
  std::optional<ElementType> products = {};    // KernelNumerics::product_type
  std::optional<ElementType> partials = {};    // KernelNumerics::partial_type
  std::optional<ElementType> accumulate = {};  // of scores and outputs, each addition to nearest
  std::optional<DeclaredExponential> exponential = {};
  std::optional<SummedWeights> summed = {};  // KernelNumerics::summed_weights

  friend bool operator==(const DeclaredNumerics&, const DeclaredNumerics&) = default;
};

KernelNumerics with_declared(const DeclaredNumerics& declared, KernelNumerics profile);

}  // namespace recto::reference
