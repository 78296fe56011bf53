#include "verify/engine/weights_file.h"

#include <fmt/format.h>

#include <limits>

#include "bazel/testing/catch.h"
#include "verify/engine/safetensors_text.h"

namespace recto::verify {
namespace {

using reference::Matrix;

ModelShape small_shape() {
  return {.vocabulary = 3,
          .hidden = 2,
          .layers = 1,
          .num_q_heads = 2,
          .num_kv_heads = 1,
          .head_dim = 2,
          .ffn = 3,
          .has_qk_norm = true};
}

std::vector<float> floats(const double* values, std::int64_t count) {
  return {values, values + count};
}

void add(SafetensorsText& text, const std::string& name, const Matrix& matrix) {
  text.add(name, fmt::format("{},{}", matrix.rows(), matrix.cols()),
           floats(matrix.data(), matrix.size()));
}
void add(SafetensorsText& text, const std::string& name, const reference::Vector& vector) {
  text.add(name, fmt::format("{}", vector.size()), floats(vector.data(), vector.size()));
}

SafetensorsText file_of(const ModelWeights& weights) {
  SafetensorsText text;
  add(text, "model.embed_tokens.weight", weights.embedding);
  const LayerWeights& layer = weights.layers.front();
  const std::string name = "model.layers.0.";
  add(text, name + "input_layernorm.weight", layer.attention_norm);
  add(text, name + "self_attn.q_proj.weight", layer.q);
  add(text, name + "self_attn.k_proj.weight", layer.k);
  add(text, name + "self_attn.v_proj.weight", layer.v);
  add(text, name + "self_attn.q_norm.weight", layer.q_norm);
  add(text, name + "self_attn.k_norm.weight", layer.k_norm);
  add(text, name + "self_attn.o_proj.weight", layer.o);
  add(text, name + "post_attention_layernorm.weight", layer.ffn_norm);
  add(text, name + "mlp.gate_proj.weight", layer.gate);
  add(text, name + "mlp.up_proj.weight", layer.up);
  add(text, name + "mlp.down_proj.weight", layer.down);
  add(text, "model.norm.weight", weights.final_norm);
  return text;
}

SafetensorsFile parsed(const SafetensorsText& text) {
  return SafetensorsFile::parse("file", text.bytes()).value();
}

TEST_CASE("weights that were written come back, with a head of their own or without") {
  const ModelWeights weights = drawn_weights(small_shape(), {.seed = 3});
  SafetensorsText text = file_of(weights);
  const ModelWeights tied = weights_of(parsed(text), small_shape()).value();
  CHECK(tied.head == weights.embedding);
  add(text, "lm_head.weight", weights.head);
  const ModelWeights read = weights_of(parsed(text), small_shape()).value();
  CHECK(read.head == weights.head);
  CHECK(read.embedding == weights.embedding);
  CHECK(read.final_norm == weights.final_norm);
  const LayerWeights& layer = read.layers.front();
  const LayerWeights& written = weights.layers.front();
  CHECK(layer.q == written.q);
  CHECK(layer.k == written.k);
  CHECK(layer.v == written.v);
  CHECK(layer.o == written.o);
  CHECK(layer.q_norm == written.q_norm);
  CHECK(layer.k_norm == written.k_norm);
  CHECK(layer.attention_norm == written.attention_norm);
  CHECK(layer.ffn_norm == written.ffn_norm);
  CHECK(layer.gate == written.gate);
  CHECK(layer.up == written.up);
  CHECK(layer.down == written.down);
}

TEST_CASE("a shape that the file does not have is refused by the tensor that differs") {
  const SafetensorsFile file = parsed(file_of(drawn_weights(small_shape(), {.seed = 3})));
  ModelShape shape = small_shape();
  shape.ffn = 4;
  CHECK(weights_of(file, shape).status().message() ==
        "file: tensor \"model.layers.0.mlp.gate_proj.weight\": shape [3, 2]; expected [4, 2]");
  shape = small_shape();
  shape.layers = 2;
  CHECK(weights_of(file, shape).status().message() ==
        "file: tensor \"model.layers.1.input_layernorm.weight\": expected, and not there");
  shape = small_shape();
  shape.num_q_heads = 3;
  shape.num_kv_heads = 2;
  CHECK(weights_of(file, shape).status().message() ==
        "model: num_q_heads = 3; expected a multiple of num_kv_heads, which is 2");
}

TEST_CASE("numbers that are not finite are refused") {
  ModelWeights weights = drawn_weights(small_shape(), {.seed = 3});
  weights.layers.front().v(1, 1) = std::numeric_limits<double>::quiet_NaN();
  CHECK(weights_of(parsed(file_of(weights)), small_shape()).status().message() ==
        "tensor \"model.layers.0.self_attn.v_proj.weight\": element 3 is nan; expected finite "
        "numbers");
}

}  // namespace
}  // namespace recto::verify
