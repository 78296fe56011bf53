#pragma once

// The configuration of `recto generate`, a JSON file: a model, a cache, a scheduler, requests.

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

// The built-in run, used without --config.
const char* example_config();

// Invalid input, "NAME: where.field: found WHAT; expected WHAT". Missing fields have the values of
// a default-constructed GenerateConfig, except requests, which are required.
Result<GenerateConfig> parse_generate_config(const std::string& name, const std::string& text);

}  // namespace recto::experiments
