#pragma once

// One workload, several allocators and block sizes.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/figures.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct FragmentationRow {
  RunConfig config;
  RunOutcome outcome;
  Figures figures;

  std::string block_text() const;  // "16"; "-" for contiguous allocators
  std::string label() const;       // "paged 16"
};

struct FragmentationGrid {
  RunConfig base;
  std::vector<std::string> allocators;
  std::vector<std::int64_t> block_sizes;
};

// One configuration per allocator and block size, in this order; contiguous allocators have no
// blocks and come once. All of them are valid, and each setting has an effect on some.
Result<std::vector<RunConfig>> expand(const FragmentationGrid& grid);

// Runs all. `done` is called from any thread when one has ended. The first failure in order of
// the configurations is returned.
Result<std::vector<FragmentationRow>> run_all(const std::vector<RunConfig>& configs, int threads,
                                              const std::function<void(const RunConfig&)>& done);

std::vector<RunConfig> configs_of(const std::vector<FragmentationRow>& rows);

// "paged 16"
std::string label_of(const RunConfig& config);

}  // namespace recto::experiments
