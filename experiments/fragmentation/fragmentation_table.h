#pragma once

// The study as terminal output of at most 100 columns.

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/fragmentation/fragmentation_study.h"
#include "experiments/support/command.h"

namespace recto::experiments {

enum class FragmentationView : std::uint8_t {
  kStates,  // the six states
  kPaper,   // the shares of the PagedAttention paper's Fig. 2
};

// `rows` is not empty, and all rows share one workload, model and pool.
std::string fragmentation_text(const std::vector<FragmentationRow>& rows, FragmentationView view,
                               const Terminal& terminal);

}  // namespace recto::experiments
