#pragma once

// Finds the step at which the computation of a row first departs from the oracle's, as far as the
// weights of its keys and its lse can tell.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/dense_attention.h"
#include "verify/explanation/row_probe.h"

namespace recto::verify {

// In the order in which a row is computed. A maximum that is wrong by the same amount for all keys
// cancels out of everything a kernel returns, unless all exponentials beside it are 0; one that
// differs between keys shows.
enum class Step : std::uint8_t { kScores, kMax, kSum, kWeights, kOutput, kUnknown };

constexpr const char* step_name(Step step) {
  constexpr const char* kNames[] = {"scores", "max", "sum", "weights", "output", "unknown"};
  return kNames[static_cast<int>(step)];
}

struct Diagnosis {
  Step step = Step::kUnknown;
  std::string why;  // what is seen, and what follows from it; one or more lines
  std::optional<std::int64_t> key = {};  // the first key that departs
  bool names_max = false;                // among the causes, whatever the step
};

// Why no key has weight, of lse_ln = -inf or all weights.
inline constexpr const char* kNoWeightCauses =
    "which keys are visited, the mask, a sum that has none of them, or a running maximum that "
    "begins or stays too high, so that every exponential is 0";

// What the case itself, with its own V, gives of a row that is wrong in it.
struct FailedRow {
  std::vector<double> out = {};  // [head_dim_v]
  std::vector<double> out_expected = {};
  std::vector<double> out_bound = {};
  double lse_ln = 0.0;
  reference::Matrix v = {};  // [context_length, head_dim_v]
};

// `probe` must be of the same row.
Diagnosis diagnose(const RowProbe& probe, const FailedRow& row);

// Whether the probe sees anything wrong; else what is wrong shows only with the case's own V, or
// not each time.
bool shows_fault(const RowProbe& probe);

// How far a key's score is above what it should be, assuming that its weight was divided by what
// the lse says; nothing where the weights cannot tell.
std::optional<double> implied_score_error(const RowProbe& probe, std::int64_t key);

}  // namespace recto::verify
