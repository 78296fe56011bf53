#pragma once

// Measures from outside what weight each key gets in a row's output: the case is run again with V
// made of ones and zeros, for as many keys at a time as there are dims, so that outputs are
// weights.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/law.h"

namespace recto::verify {

// A query row of one head, named as comparisons do.
struct RowPlace {
  std::int64_t sequence = 0;
  std::int64_t row = 0;  // within the sequence
  std::int64_t head = 0;
};

struct RowProbe {
  std::int64_t runs = 0;
  // For each key of the sequence, with V's scale divided out: [context_length]
  std::vector<double> seen = {};
  std::vector<double> expected = {};  // exact; 0 where a key is not visible
  std::vector<double> bound = {};
  double lse_ln_seen = 0.0;
  double lse_ln_expected = 0.0;
  double lse_ln_bound = 0.0;
  // Of the run that differs from the first one by more than roundings, if one does.
  std::optional<double> other_lse_ln = {};
  bool has_sink = false;  // a share of the sum
  // No key has weight, and with q of zeros, whose scores are 0 but for ALiBi, all have theirs.
  bool is_weighed_at_zero_q = false;
};

// A run shows head_dim_v keys.
struct ProbeLimits {
  std::int64_t runs = 8192;
  double seconds = 60.0;
};

// Failed, with the reason, if the backend does not support the changed case, throws, would have to
// run more often, or takes longer.
Result<RowProbe> probe_row(const Backend& backend, const LawCase& law_case, const RowPlace& place,
                           BoundKind bound_kind, const ProbeLimits& limits = {});

// Whether two runs give one lse_ln, right or wrong, but for roundings.
bool is_same_lse_ln(double a, double b, double bound);

// The row's index in the whole batch.
std::int64_t row_index(const AttentionProblem& problem, const RowPlace& place);

// The backend's result; failed, with the reason in one line, if it does not support the inputs or
// throws.
Result<reference::AttentionResult> try_run(const Backend& backend,
                                           const PagedAttentionInputs& inputs);

}  // namespace recto::verify
