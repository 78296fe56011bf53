#include "verify/engine/copying_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/engine/dense_model.h"

namespace recto::verify {
namespace {

using reference::Vector;

constexpr ModelShape kShape = {.vocabulary = 12, .layers = 2};

std::vector<std::int32_t> drawn_text(std::uint64_t seed) {
  RandomStream stream(seed);
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < 40; ++i) tokens.push_back(static_cast<std::int32_t>(stream.next_below(12)));
  return tokens;
}

// Of a token, by the angle of its point.
std::int64_t label_of(const ModelWeights& weights, std::int32_t token) {
  const double angle = std::atan2(weights.embedding(token, 2), weights.embedding(token, 1));
  return std::lround(angle / (std::numbers::pi / 2) + 3.5) % 4;
}

// The classes that follow each token if the layers read so far back.
std::vector<std::int64_t> classes_by_hand(const ModelWeights& weights,
                                          const std::vector<std::int32_t>& text,
                                          const std::array<std::size_t, 2>& distances) {
  std::vector<std::int64_t> labels;
  for (const std::int32_t token : text) labels.push_back(label_of(weights, token));
  for (const std::size_t distance : distances) {
    const std::vector<std::int64_t> read = labels;
    for (std::size_t i = 0; i < read.size(); ++i) {
      labels[i] = (read[i] + read[i - std::min(i, distance)]) % 4;
    }
  }
  return labels;
}

// Those that the model chooses, and by how much they lead the best token of another one, at least.
std::pair<std::vector<std::int64_t>, double> chosen_classes(const ModelWeights& weights,
                                                            const std::vector<std::int32_t>& text) {
  const KvRounding e5m2{ElementType::kBf16, ElementType::kE5m2, 0.01F, 0.0125F};
  const Flow hidden = DenseModel(weights, e5m2, {}).run(text, Following::kNo);
  std::pair<std::vector<std::int64_t>, double> chosen{{}, 1e9};
  for (std::int64_t row = 0; row < std::ssize(text); ++row) {
    const Vector logits = weights.head * hidden.value.row(row).transpose();
    std::array<double, 4> best = {-1e9, -1e9, -1e9, -1e9};
    for (std::int64_t token = 0; token < logits.size(); ++token) {
      double& of_class = best[static_cast<std::size_t>(token % 4)];
      of_class = std::max(of_class, logits[token]);
    }
    chosen.first.push_back(std::ranges::max_element(best) - best.begin());
    std::ranges::sort(best);
    chosen.second = std::min(chosen.second, best[3] - best[2]);
  }
  return chosen;
}

TEST_CASE("the next token's class is the sum of what all layers read, even in the coarsest fp8") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const ModelWeights weights = copying_weights(kShape, seed);
    const std::vector<std::int32_t> text = drawn_text(seed);
    const auto [classes, lead] = chosen_classes(weights, text);
    CHECK(lead > 12);
    int explanations = 0;
    for (std::size_t first = 1; first <= 3; ++first) {
      for (std::size_t second = first; second <= 3; ++second) {
        explanations += classes_by_hand(weights, text, {first, second}) == classes ? 1 : 0;
      }
    }
    INFO("seed " << seed);
    CHECK(explanations == 1);
  }
}

TEST_CASE("tokens of a class have different labels, so that texts that part stay apart") {
  const ModelWeights weights = copying_weights(kShape, 3);
  for (std::int32_t of_class = 0; of_class < 4; ++of_class) {
    std::set<std::int64_t> labels;
    for (std::int32_t token = of_class; token < 12; token += 4) {
      labels.insert(label_of(weights, token));
    }
    CHECK(labels.size() == 3);
  }
}

TEST_CASE("another seed has another model") {
  CHECK(copying_weights(kShape, 1).head == copying_weights(kShape, 1).head);
  CHECK(copying_weights(kShape, 1).head != copying_weights(kShape, 2).head);
  CHECK(copying_weights(kShape, 1).layers[0].k != copying_weights(kShape, 1).layers[1].k);
}

}  // namespace
}  // namespace recto::verify
