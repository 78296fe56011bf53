// Computes what follows from a model's shape: parameters, bytes, and whether the shape is valid.

#include <cstdlib>
#include <initializer_list>

#include "core/model_table.h"

namespace recto {
namespace {

bool has_biases(const ModelSpec& model) {
  return model.architecture == Architecture::kGpt2 || model.architecture == Architecture::kOpt;
}

// The limits are far beyond any model and keep every product of this file within 64 bits.
struct Field {
  const char* name;
  std::int64_t value;
  std::int64_t limit;
};

Status check_fields(const ModelSpec& model, std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    if (field.value < 1 || field.value > field.limit) {
      return Status::invalid_input("model '" + model.name + "', field '" + field.name +
                                   "': " + std::to_string(field.value) + "; expected 1 to " +
                                   std::to_string(field.limit));
    }
  }
  return Status::ok();
}

}  // namespace

std::int64_t layer_matmul_parameters(const ModelSpec& model) {
  const std::int64_t q_size = model.num_q_heads * model.head_dim;
  const std::int64_t kv_size = model.num_kv_heads * model.head_dim;
  const std::int64_t attention = model.hidden_size * (2 * q_size + 2 * kv_size);
  const std::int64_t ffn_matrices = has_biases(model) ? 2 : 3;
  return attention + ffn_matrices * model.hidden_size * model.ffn_size;
}

std::int64_t output_head_parameters(const ModelSpec& model) {
  return model.vocabulary_size * model.hidden_size;
}

std::int64_t count_parameters(const ModelSpec& model) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t q_size = model.num_q_heads * model.head_dim;
  const std::int64_t kv_size = model.num_kv_heads * model.head_dim;
  std::int64_t in_layer = layer_matmul_parameters(model);
  std::int64_t outside = output_head_parameters(model);
  if (model.embeddings == Embeddings::kSeparate) outside *= 2;
  if (has_biases(model)) {
    in_layer += q_size + 2 * kv_size + hidden + model.ffn_size + hidden;  // biases
    in_layer += 4 * hidden;                                               // two layer norms
    const std::int64_t spare = model.architecture == Architecture::kOpt ? 2 : 0;
    outside += (model.max_context.value() + spare) * hidden + 2 * hidden;
  } else {
    in_layer += 2 * hidden;
    if (model.architecture == Architecture::kQwen3) in_layer += 2 * model.head_dim;
    outside += hidden;
  }
  return model.num_layers * in_layer + outside;
}

ByteCount weight_bytes(const ModelSpec& model) {
  return ByteCount(model.parameter_count * model.weight_element_bytes);
}

Status check_kv_fields(const ModelSpec& model) {
  return check_fields(model, {{"num_layers", model.num_layers, 10'000},
                              {"num_q_heads", model.num_q_heads, 10'000},
                              {"num_kv_heads", model.num_kv_heads, 10'000},
                              {"head_dim", model.head_dim, 10'000}});
}

Status check_weight_fields(const ModelSpec& model) {
  return check_fields(model, {{"parameter_count", model.parameter_count, 1'000'000'000'000'000},
                              {"weight_element_bytes", model.weight_element_bytes, 8}});
}

Status check_model(const ModelSpec& model) {
  const TokenCount window = model.sliding_window.value_or(TokenCount(1));
  RECTO_RETURN_IF_ERROR(check_kv_fields(model));
  RECTO_RETURN_IF_ERROR(check_weight_fields(model));
  RECTO_RETURN_IF_ERROR(
      check_fields(model, {{"hidden_size", model.hidden_size, 1'000'000},
                           {"ffn_size", model.ffn_size, 1'000'000},
                           {"vocabulary_size", model.vocabulary_size, 100'000'000},
                           {"max_context", model.max_context.value(), 1'000'000'000},
                           {"sliding_window", window.value(), 1'000'000'000}}));
  if (model.num_q_heads % model.num_kv_heads != 0) {
    return Status::invalid_input(
        "model '" + model.name + "', field 'num_kv_heads': " + std::to_string(model.num_kv_heads) +
        "; expected a divisor of num_q_heads = " + std::to_string(model.num_q_heads));
  }
  const std::int64_t implied = count_parameters(model);
  if (std::llabs(implied - model.parameter_count) > implied / 100) {
    return Status::invalid_input(
        "model '" + model.name +
        "', field 'parameter_count': " + std::to_string(model.parameter_count) +
        "; expected within 1 % of the " + std::to_string(implied) + " that the other fields imply");
  }
  return Status::ok();
}

}  // namespace recto
