#pragma once

// Kinds of cases with the sizes of serving traffic; kernels have failed on each of them.

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
  std::int64_t num_rows_max = 512;  // per sequence
};

// Which sequences of a case have several rows.
enum class ServedRows : std::uint8_t {
  kOne,               // none: decode
  kChunks,            // some sequences, the last one among them
  kChunksAndDecodes,  // every second sequence has several; the others decode
  // The last sequence and half of the others have rows; between them lie one sequence that has keys
  // but no rows, and one that has neither.
  kChunksAndEmpty,
};

// A special property of a kind. All but kWindow apply only to cases of kEveryKeyMatters
// (serving_cases.h).
enum class ServingTrait : std::uint8_t {
  kNone,
  // Each case has a window of 1/16 to 5/16 of its longest context, which begins within a block and
  // within a split of 16 keys or a multiple of 16.
  kWindow,
  kNegativeScale,  // drawn, not the usual scale negated
  kLowScores,      // all near the lower score limit, with the usual spread
  kPeakedEnds,     // the first or last key exceeds all others by about 10 or by more than 88
  kHeadScales,     // fp8 cache with a scale for each KV head
};

struct ServingKind {
  DrawnCases cases;
  ServedRows rows = ServedRows::kOne;
  ServingTrait trait = ServingTrait::kNone;
};

// All kinds within the limits, alternating decode and chunks.
std::vector<ServingKind> serving_kinds(const SizeLimits& limits);

// `domain`, with every size reduced to the limits.
CaseDomain within(const SizeLimits& limits, CaseDomain domain);

}  // namespace recto::verify
