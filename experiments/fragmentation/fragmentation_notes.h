#pragma once

// What a reader must know besides the tables.

#include <string>
#include <vector>

#include "experiments/fragmentation/fragmentation_study.h"

namespace recto::experiments {

// What the means are taken over, which figures are cited, and what was rejected or left out; whole
// lines of at most 100 columns.
std::string fragmentation_notes(const std::vector<FragmentationRow>& rows);

}  // namespace recto::experiments
