#pragma once

// Finds the step at which the computation of a row first departs from the oracle's, as far as the
// observations allow.

#include <cstdint>
#include <optional>
#include <string>

#include "verify/explain/failed_case.h"
#include "verify/explain/weight_probe.h"

namespace recto::verify {

// In the order in which a row is computed. A maximum that is wrong by the same amount for all keys
// cancels out of everything a kernel returns, unless all exponentials become 0; an error that
// differs between keys shows.
enum class Step : std::uint8_t { kScores, kMax, kSum, kWeights, kOutput, kUnknown };

constexpr const char* step_name(Step step) {
  constexpr const char* kNames[] = {"scores", "max", "sum", "weights", "output", "unknown"};
  return kNames[static_cast<int>(step)];
}

struct Diagnosis {
  Step step = Step::kUnknown;
  std::string why;                       // observation and conclusion; one or more lines
  std::optional<std::int64_t> key = {};  // the first key that departs
  bool names_max = false;                // lists the maximum as a possible cause, whatever the step
};

// Why no key has weight, if lse_ln = -inf or all weights are 0.
inline constexpr const char* kNoWeightCauses =
    "the choice of keys, the mask, a sum without any key, or a running maximum that starts or "
    "stays too high, so that every exponential is 0";

// For a row with keys, from the weights of the keys.
Diagnosis diagnose(const WeightProbe& probe, const FailedCase& of, const HeadRow& at);
// For wrong or NaN weights, or an lse that is NaN.
Diagnosis diagnose_wrong_weights(const WeightProbe& probe);

// For an element that is NaN in the oracle, whatever the backend returns.
std::optional<Diagnosis> diagnose_no_number(const ComparedValues& values);
// For a row with keys whose results depend on previous memory contents.
Diagnosis diagnose_stale_row(const StaleRow& row, std::int64_t head_dim);
// For a row with keys whose weights are not known.
Diagnosis diagnose_results(const FailedCase& of, const HeadRow& at);

// For a row without a key to attend to: its context is empty, or its position precedes the first
// key. By definition out is zeros there, and lse_ln is -inf, or the head's sink. `attended` are the
// keys that get weight nevertheless.
Diagnosis diagnose_empty_row(const FailedCase& of, const HeadRow& at, const Keys& attended);
// Whether the probe's weights, of keys that should have none, account for the row's output.
bool weights_give_output(const WeightProbe& probe, const FailedCase& of, const HeadRow& at);

}  // namespace recto::verify
