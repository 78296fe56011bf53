#pragma once

// What a kind of cases with sizes as in serving is, and how kinds begin.

#include <array>
#include <cstdint>

#include "verify/drawn_cases.h"

namespace recto::verify {

// Upper limits for all cases of every kind. Some kind reaches each limit, so larger limits widen
// what is drawn, and smaller limits narrow it.
struct SizeLimits {
  std::int64_t context_max = 4096;
  std::int64_t num_seqs_max = 256;
  std::int64_t num_q_heads_max = 128;
  std::int64_t num_rows_max = 512;  // of one sequence
};

// Which sequences of a case have several rows.
enum class ServedRows : std::uint8_t {
  kOne,               // none: decode
  kChunks,            // some, the last one among them
  kChunksAndDecodes,  // every second one; the others decode
  // The last one, and half of the others; between them lie one that has keys and no rows, and one
  // that has neither.
  kChunksAndEmpty,
};

struct ServingKind {
  DrawnCases cases;
  ServedRows rows = ServedRows::kOne;
  // Each case has a window of a 16th to five 16ths of its longest context, which begins within a
  // block and within a split of 16 keys or a multiple.
  bool has_window = false;
  // Where values tell, the scale is below 0, and not the usual one negated.
  bool has_negative_scale = false;
  // Where values tell, all scores are as low as scores get, and as near each other as usual.
  bool has_low_scores = false;
  // Where values tell, the first or the last key outdoes all others, by about 10 or by more than
  // 88.
  bool has_peaked_ends = false;
  // Where values tell, the cache is of fp8, with a scale for each KV head.
  bool has_head_scales = false;
};

// No multiples of 16: kernels load 16 bytes, or multiply 16 dims, at a time.
inline constexpr std::array<std::int64_t, 8> kOddHeadDims = {40, 56, 72, 88, 104, 120, 136, 168};

// One row a sequence: few sequences of skewed lengths, few heads.
ServingKind kind_named(const char* name, std::int64_t context_max);

// The first sequence has this many rows at least.
ServingKind chunks_named(const char* name, std::int64_t context_max, std::int64_t rows_min,
                         std::int64_t rows_max);

}  // namespace recto::verify
