#pragma once

// The study's results: tables with method and units, JSON, and files.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/numerics/numerics_study.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

std::string sharpness_text(const std::vector<CellResult>& results);
std::string thresholds_text(const std::vector<CellResult>& results);
std::string others_text(const std::vector<CellResult>& results);  // by the profile of others

const char* sight_name(Sight sight);

// One object per cell.
Json numerics_json(const std::vector<CellResult>& results);

std::string sharpness_csv(const std::vector<CellResult>& results);   // a row per cell
std::string thresholds_csv(const std::vector<CellResult>& results);  // per cell, fault and judge

// Both CSV files, and manifest.json, which has the command.
Status write_numerics_files(const std::vector<CellResult>& results, const std::string& folder,
                            const std::string& command);

}  // namespace recto::experiments
