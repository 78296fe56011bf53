#pragma once

// A user's model, described in JSON by the fields of ModelSpec, e.g.
//
//   {"name": "tiny", "architecture": "llama", "num_layers": 2, "hidden_size": 256,
//    "num_q_heads": 4, "num_kv_heads": 2, "head_dim": 64, "ffn_size": 704,
//    "vocabulary_size": 32000, "parameter_count": 17000000, "max_context": 4096}
//
// `weight_element_bytes` (2), `sliding_window` (none), `embeddings` ("separate" or "tied") and
// `source` are optional.

#include <string>
#include <string_view>

#include "core/model_table.h"
#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Invalid input naming the file, the field and what was expected there. The model passes
// check_model.
Result<ModelSpec> load_model_file(const std::string& path);
Result<ModelSpec> parse_model(std::string_view text, const std::string& file_name);

// The model that --model-file or --model names. Invalid input names the flag at fault.
Result<ModelSpec> model_of(const RunConfig& config);

}  // namespace recto::experiments
