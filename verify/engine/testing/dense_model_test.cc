#include "verify/engine/testing/dense_model.h"

#include <cmath>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

constexpr KvRounding kFp32 = {};

ModelShape tiny_shape() {
  return {.vocabulary = 4,
          .hidden = 2,
          .layers = 1,
          .num_q_heads = 1,
          .num_kv_heads = 1,
          .head_dim = 2,
          .ffn = 1};
}

// Attention that outputs only the mean of the embeddings so far.
ModelWeights mean_weights() {
  ModelWeights weights = drawn_weights(tiny_shape(), {});
  LayerWeights& layer = weights.layers.front();
  layer.attention_norm.setOnes();
  weights.final_norm.setOnes();
  layer.q.setZero();
  layer.k.setZero();
  layer.v.setIdentity();
  layer.o.setIdentity();
  layer.down.setZero();
  weights.embedding << 3, 4, 4, 3, -3, 4, 3, -4;
  return weights;
}

TEST_CASE("a model of one layer gives the numbers worked out by hand") {
  const ModelWeights weights = mean_weights();
  const DenseModel model(weights, kFp32, {});
  const std::vector<Token> tokens = {0, 3};
  const Flow hidden = model.run(tokens, Following::kNo);
  // Both norms are 5 / sqrt(2); the second row adds the mean of both, normed, to itself.
  const double root = 5 / std::sqrt(2.0);
  const Vector added{{(3 + 3) / (2 * root), (4 - 4) / (2 * root)}};
  const Vector sum{{3 + added[0], -4 + added[1]}};
  const double norm = std::sqrt(sum.squaredNorm() / 2 + 1e-5);
  CHECK(std::abs(hidden.value(1, 0) - sum[0] / norm) < 1e-5);
  CHECK(std::abs(hidden.value(1, 1) - sum[1] / norm) < 1e-5);
}

TEST_CASE("a row does not depend on later ones") {
  const ModelWeights weights = drawn_weights({.vocabulary = 8, .layers = 2}, {.seed = 4});
  const DenseModel model(weights, kFp32, {});
  const std::vector<Token> tokens = {1, 5, 2, 7, 0, 3};
  const Flow whole = model.run(tokens, Following::kNo);
  const Flow part = model.run(std::span(tokens).first(4), Following::kNo);
  CHECK((whole.value.topRows(4) - part.value).cwiseAbs().maxCoeff() < 1e-12);
}

TEST_CASE("K and V are rounded as the cache stores them") {
  const ModelWeights weights = drawn_weights({.vocabulary = 8, .layers = 1}, {.seed = 4});
  const std::vector<Token> tokens = {1, 5, 2, 7, 0, 3};
  const Matrix fp32 = DenseModel(weights, kFp32, {}).run(tokens, Following::kNo).value;
  const auto apart = [&](ElementType type, ElementType cache) {
    const KvRounding rounding{.type = type, .cache = cache, .scale_k = 0.02F, .scale_v = 0.02F};
    const Matrix value = DenseModel(weights, rounding, {}).run(tokens, Following::kNo).value;
    return (value - fp32).cwiseAbs().maxCoeff();
  };
  const double fp16 = apart(ElementType::kFp16, ElementType::kFp16);
  const double bf16 = apart(ElementType::kBf16, ElementType::kBf16);
  const double e4m3 = apart(ElementType::kFp16, ElementType::kE4m3);
  CHECK(fp16 > 0);
  CHECK(bf16 > 2 * fp16);
  CHECK(e4m3 > 2 * bf16);
}

TEST_CASE("the same seed samples the same tokens, and the members of a request differ") {
  const ModelWeights weights = drawn_weights({.vocabulary = 12, .layers = 1}, {.seed = 4});
  const DenseModel model(weights, kFp32, {});
  GenerationRequest request{.prompt = {1, 2, 3},
                            .output_tokens = 8,
                            .decoding = sim::Decoding::kParallel,
                            .width = 3,
                            .temperature = 1.0};
  const GeneratedText text = generate_densely(model, request);
  CHECK(text.outputs == generate_densely(model, request).outputs);
  CHECK(text.outputs[0] != text.outputs[1]);
  request.seed = 1;
  CHECK(text.outputs != generate_densely(model, request).outputs);
}

TEST_CASE("beams are the likeliest texts that a search of their width finds") {
  const ModelWeights weights = drawn_weights({.vocabulary = 6, .layers = 1}, {.seed = 9});
  const DenseModel model(weights, kFp32, {});
  GenerationRequest request{
      .prompt = {1, 2, 3}, .output_tokens = 2, .decoding = sim::Decoding::kBeam, .width = 5};
  const GeneratedText text = generate_densely(model, request);
  // All texts of two tokens after the five likeliest first tokens, by their probabilities.
  const auto log_probability = [&](const std::vector<Token>& output) {
    std::vector<Token> tokens = request.prompt;
    double sum = 0;
    for (const Token token : output) {
      const Matrix hidden = model.run(tokens, Following::kNo).value.bottomRows(1);
      sum += log_probabilities(weights.head * hidden.transpose())[token];
      tokens.push_back(token);
    }
    return sum;
  };
  double least = 0;
  for (const auto& output : text.outputs) least = std::min(least, log_probability(output));
  std::int64_t likelier = 0;
  for (Token first = 0; first < 6; ++first) {
    for (Token second = 0; second < 6; ++second) {
      likelier += log_probability({first, second}) > least + 1e-9 ? 1 : 0;
    }
  }
  // The least likely of five first tokens could only lead to one that is likelier still.
  CHECK(likelier == 4);
}

TEST_CASE("a choice between equals is undecided") {
  ModelWeights weights = drawn_weights({.vocabulary = 8, .layers = 1}, {.seed = 4});
  const std::vector<Token> prompt = {1, 2, 3};
  const GenerationRequest request{.prompt = prompt, .output_tokens = 1};
  const std::vector<reference::KernelNumerics> kernels(1);
  const DenseModel model(weights, kFp32, kernels);
  const GeneratedText text = generate_densely(model, request);
  CHECK(text.is_decided());
  const Token chosen = text.outputs[0][0];
  weights.head.row((chosen + 1) % 8) = weights.head.row(chosen);
  CHECK_FALSE(generate_densely(model, request).is_decided());
}

}  // namespace
}  // namespace recto::verify
