#include "verify/engine/weights_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

// Reads tensors, and keeps the first failure.
class Reader {
 public:
  explicit Reader(const SafetensorsFile& file) : file_(file) {}

  Matrix matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    const std::array shape = {rows, cols};
    const std::vector<double> values = read(name, shape);
    if (!status_.is_ok()) return {};
    return Eigen::Map<const Matrix>(values.data(), rows, cols);
  }
  Vector vector(const std::string& name, std::int64_t size) {
    const std::array shape = {size};
    const std::vector<double> values = read(name, shape);
    if (!status_.is_ok()) return {};
    return Eigen::Map<const Vector>(values.data(), size);
  }
  const Status& status() const { return status_; }

 private:
  std::vector<double> read(const std::string& name, std::span<const std::int64_t> shape) {
    if (!status_.is_ok()) return {};
    const Result<std::vector<double>> values = file_.values(name, shape);
    status_ = values.status();
    if (!status_.is_ok()) return {};
    for (std::size_t i = 0; i < values.value().size(); ++i) {
      if (std::isfinite(values.value()[i])) continue;
      status_ = Status::invalid_input(fmt::format(
          "tensor \"{}\": element {} is {}; expected finite numbers", name, i, values.value()[i]));
      return {};
    }
    return values.value();
  }

  const SafetensorsFile& file_;
  Status status_;
};

LayerWeights read_layer(Reader& reader, const ModelShape& shape, const std::string& name) {
  LayerWeights layer;
  layer.attention_norm = reader.vector(name + "input_layernorm.weight", shape.hidden);
  const std::string attention = name + "self_attn.";
  layer.q = reader.matrix(attention + "q_proj.weight", shape.q_size(), shape.hidden);
  layer.k = reader.matrix(attention + "k_proj.weight", shape.kv_size(), shape.hidden);
  layer.v = reader.matrix(attention + "v_proj.weight", shape.kv_size(), shape.hidden);
  if (shape.has_qk_norm) {
    layer.q_norm = reader.vector(attention + "q_norm.weight", shape.head_dim);
    layer.k_norm = reader.vector(attention + "k_norm.weight", shape.head_dim);
  }
  layer.o = reader.matrix(attention + "o_proj.weight", shape.hidden, shape.q_size());
  layer.ffn_norm = reader.vector(name + "post_attention_layernorm.weight", shape.hidden);
  layer.gate = reader.matrix(name + "mlp.gate_proj.weight", shape.ffn, shape.hidden);
  layer.up = reader.matrix(name + "mlp.up_proj.weight", shape.ffn, shape.hidden);
  layer.down = reader.matrix(name + "mlp.down_proj.weight", shape.hidden, shape.ffn);
  return layer;
}

}  // namespace

Result<ModelWeights> weights_of(const SafetensorsFile& file, const ModelShape& shape) {
  RECTO_RETURN_IF_ERROR(check_shape(shape));
  Reader reader(file);
  ModelWeights weights;
  weights.shape = shape;
  weights.embedding = reader.matrix("model.embed_tokens.weight", shape.vocabulary, shape.hidden);
  for (std::int64_t layer = 0; layer < shape.layers && reader.status().is_ok(); ++layer) {
    weights.layers.push_back(read_layer(reader, shape, fmt::format("model.layers.{}.", layer)));
  }
  weights.final_norm = reader.vector("model.norm.weight", shape.hidden);
  weights.head = file.has("lm_head.weight")
                     ? reader.matrix("lm_head.weight", shape.vocabulary, shape.hidden)
                     : weights.embedding;
  RECTO_RETURN_IF_ERROR(reader.status());
  return weights;
}

}  // namespace recto::verify
