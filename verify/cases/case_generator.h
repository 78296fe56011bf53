#pragma once

// Draws cases. A case is determined by one 64-bit number and the domain, so that programs and
// properties draw the same cases.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/random_stream.h"
#include "verify/cases/case_feature.h"
#include "verify/cases/case_spec.h"

namespace recto::verify {

// How many query rows each sequence has, relative to its context.
enum class RowsKind : std::uint8_t {
  kDecode,         // one
  kChunk,          // several, but fewer than keys if there are two keys or more
  kPrefill,        // as many as keys, at least one
  kBeyondContext,  // more than keys: the first rows have negative positions
  kMixed,          // each sequence has one of the above kinds, or, rarely, no rows
};

inline constexpr std::array<RowsKind, 5> kRowsKinds = {RowsKind::kDecode, RowsKind::kChunk,
                                                       RowsKind::kPrefill, RowsKind::kBeyondContext,
                                                       RowsKind::kMixed};

// Whether two sizes of a case may be equal. Swapped indices go unnoticed where both have the same
// range.
enum class Dimensions : std::uint8_t {
  // Sizes are distinct as far as the domain allows, except in one case in four: some callers have
  // as many query heads as KV heads, one head dim, or one sequence.
  kMostlyDistinct,
  kAny,
};

// Context lengths of a batch, except that of the first sequence.
enum class Lengths : std::uint8_t {
  kAlike,   // up to the longest allowed
  kSkewed,  // each up to the longest, or its half, quarter, ..., 64th: a few are long
};

enum class ValueHeadDim : std::uint8_t { kOwn, kSameAsKeys };

// Units of gaps, in elements. With the first, strides are as aligned as without gaps; kernels that
// load vectors refuse strides that the other units produce.
inline constexpr std::array<std::int64_t, 5> kGapUnits = {16, 8, 4, 2, 1};

// Limits of what is drawn. Each list must have at least one entry, and `families` at least one that
// suits any tensor; maxima are inclusive.
struct CaseDomain {
  std::vector<TypePair> types = {kTypePairs.begin(), kTypePairs.end()};
  std::vector<KvLayout> layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};
  std::vector<RowsKind> rows = {kRowsKinds.begin(), kRowsKinds.end()};
  // Rounded up to whole packs if the layout requires it. Kernels: 64, 80, 96, 128, 192, 256.
  std::vector<std::int64_t> head_dims = {1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32};
  ValueHeadDim value_head_dim = ValueHeadDim::kOwn;
  std::vector<std::int64_t> groups = {1, 2, 3, 4, 5, 7, 8};
  std::vector<std::int64_t> block_sizes = {1, 2, 4, 8, 16, 32, 48, 64};
  std::vector<std::int64_t> tile_sizes = {32, 64};  // of kernels, and of their splits
  std::int64_t num_seqs_min = 1;
  std::int64_t num_seqs_max = 5;
  std::int64_t num_kv_heads_min = 1;
  std::int64_t num_kv_heads_max = 4;
  // With many KV heads, only groups that fit are drawn; if none fits, there are fewer KV heads, but
  // at least one with the smallest group.
  std::optional<std::int64_t> num_q_heads_max = {};
  std::int64_t num_rows_max = 12;  // per sequence
  std::int64_t context_max = 96;
  // Minima for the first sequence, as far as its kind of rows allows.
  std::int64_t first_rows_min = 0;
  std::int64_t first_context_min = 0;
  Lengths lengths = Lengths::kAlike;
  std::vector<FloatFamily> families = {kFloatFamilies.begin(), kFloatFamilies.end() - 2};
  // One case in eight has q and k of kOutlierDim, the last family but one: all scores of its rows
  // lie near -10000 (mostly), -3000 or 10000, and its sinks, if any, are as low as those.
  bool has_far_scores = true;
  std::vector<Poison> poisons = {kPoisons.begin(), kPoisons.end()};
  bool has_softcap = true;
  bool has_window = true;
  bool has_alibi = true;
  bool has_sinks = true;
  bool has_scales = true;
  bool has_non_causal = true;
  bool has_negative_scale = true;
  bool has_padding = true;
  bool has_empty = true;
  bool has_rows_beyond_context = true;
  bool has_scales_of_heads = true;
  bool has_sinks_of_q_type = false;
  std::vector<CaseFeature> required = {};  // of each case, where its rows allow it
  ScaleValues scale_values = ScaleValues::kAny;
  PoisonLimit tails = PoisonLimit::kAny;
  std::vector<Gap> gaps = every_gap();  // one case in three may have these, with padding
  // All gaps of a case are multiples of one of these units, chosen by its seed; gaps within packs
  // are no wider than a pack of K (16 bytes).
  std::vector<std::int64_t> gap_units = {kGapUnits.front()};
  Dimensions dimensions = Dimensions::kMostlyDistinct;
};

// Draws a valid case (check_case). Takes one number from the stream.
CaseSpec draw_case(RandomStream& stream, const CaseDomain& domain);

// The number of pairs of equal sizes among: sequences, query rows, longest context, query heads, KV
// heads, both head dims, block size, blocks of the longest context. Pairs that the kind of case
// implies (rows and sequences in decode) are not counted.
std::int64_t count_equal_dimensions(const CaseSpec& spec);

}  // namespace recto::verify
