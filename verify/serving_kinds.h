#pragma once

// Kinds of cases with sizes as in serving, each of which kernels have gone wrong at.

#include <cstdint>
#include <vector>

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

// What else a kind has. All but the window apply to cases with telling values (serving_cases.h).
enum class ServingTrait : std::uint8_t {
  kNone,
  // Each case has a window of a 16th to five 16ths of its longest context, which begins within a
  // block and within a split of 16 keys or a multiple.
  kWindow,
  kNegativeScale,  // and not the usual one negated
  kLowScores,      // as low as scores get, and as near each other as usual
  kPeakedEnds,     // the first or the last key outdoes all others, by about 10 or by more than 88
  kHeadScales,     // the cache is of fp8, with a scale for each KV head
};

struct ServingKind {
  DrawnCases cases;
  ServedRows rows = ServedRows::kOne;
  ServingTrait trait = ServingTrait::kNone;
};

// All kinds, those of decode and those of chunks by turns, within the limits.
std::vector<ServingKind> serving_kinds(const SizeLimits& limits);

// The domain, with no size beyond the limits.
CaseDomain within(const SizeLimits& limits, CaseDomain domain);

}  // namespace recto::verify
