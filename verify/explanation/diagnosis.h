#pragma once

// Which step of the computation of a row first departs from the oracle's, as far as the weights of
// its keys and its lse tell.

#include <cstdint>
#include <optional>
#include <string>

#include "verify/explanation/row_probe.h"

namespace recto::verify {

// In the order in which a row is computed. A maximum that is wrong for all keys alike cancels from
// everything that a kernel hands out; one that is not shows.
enum class Step : std::uint8_t { kScores, kMax, kSum, kWeights, kOutput, kUnknown };

constexpr const char* step_name(Step step) {
  constexpr const char* kNames[] = {"scores", "max", "sum", "weights", "output", "unknown"};
  return kNames[static_cast<int>(step)];
}

struct Diagnosis {
  Step step = Step::kUnknown;
  std::string why;                       // what is seen, and what follows from it; one line or more
  std::optional<std::int64_t> key = {};  // the first that departs
};

// Of a row that is wrong in the case itself: in its output, in its lse or in both.
Diagnosis diagnose(const RowProbe& probe);

// How much further a key's score is than it should be, if its weight was divided by what the lse
// says; nothing where the weights do not tell.
std::optional<double> implied_score_error(const RowProbe& probe, std::int64_t key);

}  // namespace recto::verify
