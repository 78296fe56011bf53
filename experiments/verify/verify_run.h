#pragma once

// Laws on backends over drawn cases, as many as are asked for, or as fit into so many seconds.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"
#include "experiments/verify/trial.h"
#include "verify/law_runner.h"

namespace recto::experiments {

// Few, as the executor takes its time; a library is quick, and refuses types that it does not take.
inline constexpr std::int64_t kDefaultCases = 12;
inline constexpr std::int64_t kDefaultLibraryCases = 80;

struct VerifyOptions {
  std::optional<std::int64_t> cases = {};
  std::int64_t cases_by_default = kDefaultCases;  // without `seconds`, else without end
  std::optional<double> seconds = {};             // no case is begun after that
  std::uint64_t seed = 2026;
  verify::BoundKind bound_kind = verify::BoundKind::kSharp;
  std::int64_t failures_kept = 1;  // of each law on each backend
  std::string folder = {};         // of failing cases
  std::string replay_flags = {};   // what `recto replay FILE` needs beside the file
};

struct KeptFailure {
  std::string law;
  std::string backend;
  std::string file;
};

struct VerifyOutcome {
  verify::LawReport report;
  std::int64_t cases = 0;
  // Of cases that were drawn beside those, each for a backend that refused it: why.
  std::map<std::string, std::int64_t> passed_over;
  std::vector<KeptFailure> kept;  // in the order of report.failures
  Status written = {};            // failed where a failing case could not be kept
};

VerifyOutcome run_verify(const Trial& trial, const VerifyOptions& options, CommandContext& context);

}  // namespace recto::experiments
