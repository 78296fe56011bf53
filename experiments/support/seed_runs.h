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
  int seeds = 1;  // starting with the configuration's own
  int threads = 1;
};

// One run under the configuration's own seed.
Result<SeedRun> run_seed(const RunConfig& config);

// One run per seed, in their order. Invalid input if the seeds would overflow.
Result<std::vector<SeedRun>> run_seeds(const RunConfig& config, const SeedOptions& options);

// Invalid input if `seeds` seeds, starting with the configuration's own, would overflow.
Status check_seed_room(const RunConfig& config, int seeds);

struct NamedInterval {
  std::string name;
  MeanInterval interval;
  std::vector<double> by_seed;  // the values that it is of
};

// Every number of figures and report that all runs have, except series and lists, by its name in
// flatten(). A latency is NaN if no request of some run has it. `runs` is not empty.
std::vector<NamedInterval> intervals_of(const std::vector<SeedRun>& runs);

// The interval of that name, which must exist.
const MeanInterval& find_interval(const std::vector<NamedInterval>& intervals,
                                  std::string_view name);

}  // namespace recto::experiments
