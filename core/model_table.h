#pragma once

// Language models as data: the dimensions that determine how much memory a token takes and how much
// work a step does. Each row names the published configuration it was copied from.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/units.h"

namespace recto {

// Architectures, as far as they matter for counting the parameters of a transformer block.
enum class Architecture : std::uint8_t {
  kGpt2,   // learned positions, layer norm, biased projections, two FFN matrices
  kOpt,    // as GPT-2; its position table has two extra rows
  kLlama,  // rotary positions, RMS norm, no biases, three FFN matrices (gated)
  kQwen3,  // as Llama, plus an RMS norm of each head's query and key
};

enum class Embeddings : std::uint8_t {
  kTied,      // the output head is the input embedding
  kSeparate,  // the output head is a separate matrix
};

struct ModelSpec {
  std::string name;
  Architecture architecture = Architecture::kLlama;
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_q_heads = 0;
  std::int64_t num_kv_heads = 0;
  std::int64_t head_dim = 0;  // not always hidden_size / num_q_heads
  std::int64_t ffn_size = 0;
  std::int64_t vocabulary_size = 0;
  std::int64_t parameter_count = 0;       // all weights, as published; tied ones counted once
  std::int64_t weight_element_bytes = 2;  // as published; GPT-2's are fp32
  TokenCount max_context;
  std::optional<TokenCount> sliding_window;  // visible tokens, the query's own included
  Embeddings embeddings = Embeddings::kSeparate;
  std::string source;
};

// All known models, in the order in which they are documented.
const std::vector<ModelSpec>& model_table();

// Looks a model up by name, ignoring case, with or without a leading organisation
// ("meta-llama/Llama-3.1-8B"). Invalid input, listing the known names, if there is none.
Result<ModelSpec> find_model(std::string_view name);

// For models that are not in the table: invalid input if a field is not positive, heads do not
// divide, or the parameter count differs by more than 1 % from what the architecture implies.
Status check_model(const ModelSpec& model);

// The part of check_model that K and V sizes depend on: layers, heads and head_dim.
Status check_kv_fields(const ModelSpec& model);

// The part of check_model that `weight_bytes` depends on.
Status check_weight_fields(const ModelSpec& model);

// Weights per layer that multiply each token: Q, K, V, output and FFN matrices.
std::int64_t layer_matmul_parameters(const ModelSpec& model);

// Weights of the matrix that turns a hidden state into logits.
std::int64_t output_head_parameters(const ModelSpec& model);

// All weights that the architecture implies, biases, norms and positions included.
std::int64_t count_parameters(const ModelSpec& model);

// Bytes of all weights, before any sharding.
ByteCount weight_bytes(const ModelSpec& model);

}  // namespace recto
