#pragma once

// Runs laws on backends over drawn cases: as many as are asked for, or as fit into a number of
// seconds.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"
#include "experiments/verify/case_supply.h"
#include "experiments/verify/trial.h"
#include "experiments/verify/tried_sizes.h"
#include "verify/law_runner.h"
#include "verify/rounding_bias.h"
#include "verify/serving_kinds.h"

namespace recto::experiments {

struct VerifyOptions {
  std::optional<std::int64_t> cases = {};
  std::int64_t cases_by_default = kDefaultCases;  // without `seconds`; with it, no limit
  std::optional<double> seconds = {};             // no case is begun after that
  std::uint64_t seed = 2026;
  verify::SizeLimits limits = {};
  SupplyOptions supply = {};
  verify::BoundKind bound_kind = verify::BoundKind::kProbabilistic;
  std::int64_t failures_kept = 1;  // of each kind, of each law on each backend
  std::string folder = {};         // of failing cases
  std::string replay_flags = {};   // what `recto replay FILE` needs beside the file
  // Why nothing can run any more, asked after each failure: LawRunOptions::why_lost.
  std::function<std::optional<std::string>()> why_lost = {};
};

struct KeptFailure {
  std::string law;
  std::string backend;
  std::string kind;
  std::optional<std::string> file = {};  // nothing where it could not be written
};

struct VerifyOutcome {
  verify::LawReport report;
  std::int64_t cases = 0;
  std::int64_t large_cases = 0;             // of these, of serving size
  std::int64_t late_cases = 0;              // of these, drawn for laws that had met none
  std::int64_t pair_cases = 0;              // beside these: of PairCover, for the oracle on kernels
  std::map<std::string, TriedSizes> sizes;  // by backend, of its calls
  // Why backends refused cases that were drawn for them, and how often each reason was given.
  std::map<std::string, std::int64_t> passed_over;
  std::vector<KeptFailure> kept;  // in the order of report.failures
  // Backends whose outputs are off to one side, which is no failure.
  std::map<std::string, verify::RoundingBias::Finding> biased = {};
  Status written = {};                     // why a failing case could not be kept
  std::vector<std::string> replaced = {};  // files that kept another case before this run
};

// Backends that some law is about, and that skipped every case.
std::vector<std::string> untried_backends(const Trial& trial, const VerifyOutcome& outcome);

VerifyOutcome run_verify(const Trial& trial, const VerifyOptions& options, CommandContext& context);

}  // namespace recto::experiments
