#pragma once

// Runs laws on backends over drawn cases: a given number of cases, or as many as fit into a number
// of seconds.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"
#include "experiments/verify/case_supply.h"
#include "experiments/verify/feature_counts.h"
#include "experiments/verify/selection.h"
#include "experiments/verify/tried_sizes.h"
#include "verify/law_runner.h"
#include "verify/rounding_bias.h"
#include "verify/serving_kinds.h"

namespace recto::experiments {

struct VerifyOptions {
  std::optional<std::int64_t> cases = {};
  std::int64_t cases_by_default = kDefaultCases;  // without `seconds`; with it, no limit
  std::optional<double> seconds = {};             // no case begins after that
  std::uint64_t seed = 2026;
  verify::SizeLimits limits = {};
  SupplyOptions supply = {};
  verify::BoundKind bound_kind = verify::BoundKind::kProbabilistic;
  std::int64_t failures_kept = 1;  // of each kind, of each law on each backend
  // How many cases are drawn after one that failed, which rarely show more than it; nullopt: all.
  std::optional<std::int64_t> cases_after_failure = {};
  std::string folder = {};        // of failing cases
  std::string replay_flags = {};  // flags that `recto replay FILE` needs
  bool is_of_caller = false;      // the Python package: failures are replayed by it
  // Why nothing can run any more, called after each failure: LawRunOptions::why_lost.
  std::function<std::optional<std::string>()> why_lost = {};
};

struct KeptFailure {
  std::string law;
  std::string backend;
  std::string kind;
  std::optional<std::string> file = {};  // nullopt if it could not be written
};

struct VerifyOutcome {
  verify::LawReport report;
  std::int64_t cases = 0;
  std::int64_t large_cases = 0;             // cases of serving size
  std::int64_t unmet_law_cases = 0;         // cases drawn for laws without a case
  std::int64_t pair_cases = 0;              // further cases, of PairCover
  std::map<std::string, TriedSizes> sizes;  // by backend, of its calls
  // Why backends refused cases that were drawn for them, and how often each reason was given.
  std::map<std::string, std::int64_t> passed_over;
  FeatureCounts by_feature = {};
  std::vector<KeptFailure> kept;  // in the order of report.failures
  // Backends whose outputs are biased, which is no failure.
  std::map<std::string, verify::RoundingBias::Finding> biased = {};
  Status written = {};                     // why a failing case could not be saved
  std::vector<std::string> replaced = {};  // files that had another case before this run
};

// Backends to which some law applies, and that skipped every case.
std::vector<std::string> untried_backends(const Selection& selection, const VerifyOutcome& outcome);

VerifyOutcome run_verify(const Selection& selection, const VerifyOptions& options,
                         CommandContext& context);

}  // namespace recto::experiments
