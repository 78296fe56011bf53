#pragma once

// The same configuration under several seeds: means with confidence intervals.

#include <cstdint>
#include <string>
#include <string_view>
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

// One run under the configuration's own seed.
Result<SeedRun> run_seed(const RunConfig& config);

// In order of the seeds. Invalid input where they would run over.
Result<std::vector<SeedRun>> run_seeds(const RunConfig& config, const SeedOptions& options);

// Invalid input where so many seeds, from the configuration's own on, would run over.
Status check_seed_room(const RunConfig& config, int seeds);

struct NamedInterval {
  std::string name;
  MeanInterval interval;
};

// Every number of figures and report, but series and lists, by its name in flatten(). Not empty.
std::vector<NamedInterval> intervals_of(const std::vector<SeedRun>& runs);

// The one of that name, which must be there.
const MeanInterval& find_interval(const std::vector<NamedInterval>& intervals,
                                  std::string_view name);

}  // namespace recto::experiments
