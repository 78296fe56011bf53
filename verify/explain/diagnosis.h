#pragma once

// Finds the step at which the computation of a row first departs from the oracle's, as far as what
// is seen of it can tell.

#include <cstdint>
#include <optional>
#include <string>

#include "verify/comparison.h"
#include "verify/explain/failed_case.h"
#include "verify/explain/weight_probe.h"

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

// Of a row with keys, by the weights of these.
Diagnosis diagnose(const WeightProbe& probe, const FailedCase& of, const HeadRow& at);
// Of weights that are wrong, or no numbers, or an lse that is none.
Diagnosis diagnose_wrong_weights(const WeightProbe& probe);

// Of an element that the oracle has no number for, whatever the backend makes of it.
std::optional<Diagnosis> diagnose_no_number(const ComparedValues& values);
// Of a row with keys that follows what memory held.
Diagnosis diagnose_stale_row(const StaleRow& row, std::int64_t head_dim);
// Of a row whose backend cannot be run with other V.
Diagnosis diagnose_outputs(const Comparison& comparison);
// Of a row that was computed elsewhere.
Diagnosis diagnose_results(const FailedCase& of, const HeadRow& at);

// A row without a key to attend to: its context is empty, or it stands before its first key. By
// definition out is zeros there, and lse_ln is -inf, or the head's sink. `attended` are the keys
// that get weight all the same.
Diagnosis diagnose_empty_row(const FailedCase& of, const HeadRow& at, const StaleRow& stale,
                             const Keys& attended);
// Whether the probe's weights, of keys that should have none, give what was seen of the row.
bool weights_give_output(const WeightProbe& probe, const FailedCase& of, const HeadRow& at);

}  // namespace recto::verify
