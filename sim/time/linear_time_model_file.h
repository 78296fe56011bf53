#pragma once

// Reads the coefficients of a LinearTimeModel from JSON: one object with exactly the fields of
// LinearCoefficients, of which only per_kv_block_ns may be missing, e.g.
//
//   {"source": "vLLM 0.19, Llama-3.1-8B, RTX 4090", "fixed_ns": 17250000,
//    "per_prefill_token_ns": 83000, "per_kv_token_ns": 171, "per_sequence_ns": 8500}

#include <string>
#include <string_view>

#include "core/status.h"
#include "sim/time/linear_time_model.h"

namespace recto::sim {

// Returns invalid input, naming `file_name`, the field and what was expected, if `text` is not such
// an object: a missing, repeated, unknown or wrongly typed field, or an empty source.
Result<LinearCoefficients> parse_linear_time_model(std::string_view text,
                                                   const std::string& file_name);

// Reads `path` and parses it. Also invalid input if the file cannot be read.
Result<LinearCoefficients> load_linear_time_model(const std::string& path);

}  // namespace recto::sim
