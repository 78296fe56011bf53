#pragma once

// What `recto generate` runs, as described by a JSON file: a model, a cache, a scheduler, requests.

#include <string>

#include "core/status.h"
#include "verify/engine/engine.h"

namespace recto::experiments {

struct GenerateConfig {
  verify::ModelShape model;
  std::uint64_t weights_seed = 0;
  std::string weights_file;  // safetensors, in place of the seed; empty: none
  verify::EngineOptions engine;
  std::vector<verify::GenerationRequest> requests;
};

// The run that is shown if no file is named.
const char* example_config();

// Invalid input, "NAME: where.field: found WHAT; expected WHAT". Fields that are left out are as in
// a default-constructed GenerateConfig, except requests, which are required.
Result<GenerateConfig> parse_generate_config(const std::string& name, const std::string& text);

}  // namespace recto::experiments
