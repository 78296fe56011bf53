#pragma once

// The study as people read it: tables, each with its method and units.

#include <string>
#include <vector>

#include "experiments/numerics/numerics_study.h"

namespace recto::experiments {

std::string sharpness_text(const std::vector<CellResult>& results);
std::string thresholds_text(const std::vector<CellResult>& results);
std::string others_text(const std::vector<CellResult>& results);  // by the profile of others

const char* sight_name(Sight sight);

}  // namespace recto::experiments
