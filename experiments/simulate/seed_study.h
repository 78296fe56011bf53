#pragma once

// The same configuration under several seeds: means with confidence intervals.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/figures.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "experiments/support/statistics.h"

namespace recto::experiments {

struct SeedRun {
  RunConfig config;
  RunOutcome outcome;
  Figures figures;
};

struct SeedOptions {
  int seeds = 1;  // from the configuration's own on
  int threads = 1;
};

// In order of the seeds. Invalid input where they would run over.
Result<std::vector<SeedRun>> run_seeds(const RunConfig& config, const SeedOptions& options);

struct NamedInterval {
  std::string name;
  MeanInterval interval;
};

// Every number of figures and report, but series and lists.
std::vector<NamedInterval> intervals_of(const std::vector<SeedRun>& runs);

// A table of the main ones.
std::string seeds_text(const std::vector<SeedRun>& runs);

// All of them, and each run's report.
Json seeds_json(const std::vector<SeedRun>& runs);

}  // namespace recto::experiments
