#pragma once

// How a run of the engine is shown: steps with tables and events, texts, and what paging saved.

#include <string>

#include "experiments/generate/generate_config.h"
#include "verify/engine/engine.h"

namespace recto::experiments {

std::string steps_text(const GenerateConfig& config, const verify::EngineRun& run);
std::string outputs_text(const GenerateConfig& config, const verify::EngineRun& run);
std::string savings_text(const GenerateConfig& config, const verify::EngineRun& run);

}  // namespace recto::experiments
