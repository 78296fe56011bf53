#include "verify/engine/copying_weights.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/contract.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

constexpr std::int64_t kLabels = 4;
// Sizes of pairs of q (the largest) and of k. The scores of a key and its neighbour then differ by
// a dozen or more, however fp8 rounds them.
constexpr double kQuerySize = 56;
constexpr double kKeySize = 4;
// Size of points in the residual stream, where other numbers are 1: errors of points hardly change
// its norm, which all logits share.
constexpr double kRadius = 0.125;
// A class leads the next one by this much, beyond any noise; tokens of a class differ by this
// standard deviation, which noise often exceeds.
constexpr double kClassLead = 24;
constexpr double kTokenSpread = 1.5;

// The layout of the residual stream: a 1, points, and signs. Each has the same size for all tokens,
// so that the norm is known.
constexpr std::int64_t kOne = 0;    // 1
constexpr std::int64_t kLabel = 1;  // of the token, two numbers
struct LayerPlace {
  std::int64_t label;    // the label that it reads; each has two numbers
  std::int64_t current;  // what even heads read
  std::int64_t earlier;  // what odd heads read
  std::int64_t sum;
};
std::int64_t signs_begin(std::int64_t layers) { return kLabel + 2 + 6 * layers; }
LayerPlace place_of(std::int64_t layer) {
  const std::int64_t begin = signs_begin(layer);
  return {begin - 2, begin, begin + 2, begin + 4};
}

// The point of the unit circle that stands for a number modulo 4. None has a coordinate of 0, which
// no kernel rounds: what dims of v have in common would then go unseen by bounds that take them as
// independent.
std::array<double, 2> point_of(std::int64_t number) {
  constexpr double kHalf = 1 / std::numbers::sqrt2;
  constexpr std::array<std::array<double, 2>, kLabels> kPoints = {
      {{kHalf, kHalf}, {-kHalf, kHalf}, {-kHalf, -kHalf}, {kHalf, -kHalf}}};
  return kPoints[static_cast<std::size_t>(number % kLabels)];
}

double to_fp32(double value) { return static_cast<float>(value); }

double sign_of(RandomStream& stream) { return stream.next_below(2) == 0 ? -1 : 1; }

// The weight with which a number of the stream is read as it is (a point: on the unit circle),
// after a norm with these gains, if the stream has so many points.
class Reader {
 public:
  Reader(const ModelShape& shape, const Vector& gains, std::int64_t points) : gains_(gains) {
    const std::int64_t signs = shape.hidden - signs_begin(shape.layers);
    const double squares =
        static_cast<double>(1 + signs) + kRadius * kRadius * static_cast<double>(points);
    root_ = std::sqrt(squares / static_cast<double>(shape.hidden) + shape.norm_epsilon);
  }
  double of(std::int64_t place) const { return root_ / gains_[place]; }
  double of_point(std::int64_t place) const { return of(place) / kRadius; }

 private:
  const Vector& gains_;
  double root_;
};

class LayerDraw {
 public:
  LayerDraw(const ModelShape& shape, std::int64_t index, const RandomStream& stream)
      : shape_(shape), index_(index), place_(place_of(index)), stream_(stream) {}

  LayerWeights draw() {
    layer_.attention_norm = drawn_gains(stream_.split("attention norm"), shape_.hidden, 1);
    layer_.ffn_norm = drawn_gains(stream_.split("ffn norm"), shape_.hidden, 1);
    plant_scores();
    if (shape_.has_qk_norm) plant_head_norms();
    plant_values();
    plant_sum();
    return std::move(layer_);
  }

 private:
  // q and k are the same for all tokens, so that scores depend on the distance alone. A pair
  // contributes most at the distance by which q's phase is behind k's, and pairs are weighted by
  // how well they tell neighbours apart.
  void plant_scores() {
    const Reader read(shape_, layer_.attention_norm, 1 + 3 * index_);
    const std::int64_t group = shape_.num_q_heads / shape_.num_kv_heads;
    const std::int64_t half = shape_.head_dim / 2;
    const auto distance = static_cast<double>(1 + stream_.split("distance").next_below(3));
    layer_.q = Matrix::Zero(shape_.q_size(), shape_.hidden);
    layer_.k = Matrix::Zero(shape_.kv_size(), shape_.hidden);
    const bool is_normed = shape_.has_qk_norm;
    const auto plant = [&](Matrix& to, std::int64_t row, double size, double phase) {
      to(row, kOne) = to_fp32(size * std::cos(phase) * read.of(kOne));
      to(row + half, kOne) = to_fp32(size * std::sin(phase) * read.of(kOne));
    };
    RandomStream phases = stream_.split("phases");
    for (std::int64_t kv_head = 0; kv_head < shape_.num_kv_heads; ++kv_head) {
      for (std::int64_t pair = 0; pair < half; ++pair) {
        const double phase = 2 * std::numbers::pi * phases.next_unit();
        const double angle = angle_of(pair);
        plant(layer_.k, kv_head * shape_.head_dim + pair, is_normed ? 1 : kKeySize, phase);
        for (std::int64_t q_head = kv_head * group; q_head < (kv_head + 1) * group; ++q_head) {
          plant(layer_.q, q_head * shape_.head_dim + pair, is_normed ? 1 : query_size(pair),
                phase - (q_head % 2 == 0 ? 0 : distance) * angle);
        }
      }
    }
  }

  // The angle by which each position turns the pair.
  double angle_of(std::int64_t pair) const {
    return std::pow(shape_.rotary_base,
                    -2 * static_cast<double>(pair) / static_cast<double>(shape_.head_dim));
  }
  double query_size(std::int64_t pair) const {
    return kQuerySize * std::sqrt(1 - std::cos(angle_of(pair)));
  }

  // A norm makes all pairs sqrt(2) long, so that the gains decide their sizes; both gains of a pair
  // are equal, which keeps its phase.
  void plant_head_norms() {
    const std::int64_t half = shape_.head_dim / 2;
    layer_.q_norm = drawn_gains(stream_.split("q norm"), shape_.head_dim, 1 / std::sqrt(2.0));
    layer_.k_norm =
        drawn_gains(stream_.split("k norm"), shape_.head_dim, kKeySize / std::sqrt(2.0));
    for (std::int64_t pair = 0; pair < half; ++pair) {
      layer_.q_norm[pair] = to_fp32(layer_.q_norm[pair] * query_size(pair));
      layer_.q_norm[pair + half] = layer_.q_norm[pair];
      layer_.k_norm[pair + half] = layer_.k_norm[pair];
    }
  }

  // Even dims of v have the label's first number, odd ones the second, each with a scale of its
  // own, so that roundings differ; o takes their mean.
  void plant_values() {
    const Reader read(shape_, layer_.attention_norm, 1 + 3 * index_);
    const std::int64_t group = shape_.num_q_heads / shape_.num_kv_heads;
    layer_.v = Matrix::Zero(shape_.kv_size(), shape_.hidden);
    layer_.o = Matrix::Zero(shape_.hidden, shape_.q_size());
    RandomStream sizes = stream_.split("values");
    for (std::int64_t row = 0; row < shape_.kv_size(); ++row) {
      const double size = sign_of(sizes) * (0.5 + sizes.next_unit());
      const std::int64_t dim = row % shape_.head_dim;
      const std::int64_t part = dim % 2;
      layer_.v(row, place_.label + part) = to_fp32(size * read.of_point(place_.label + part));
      const std::int64_t first = row / shape_.head_dim * group;
      for (std::int64_t q_head = first; q_head < first + group; ++q_head) {
        const bool is_even = q_head % 2 == 0;
        const std::int64_t alike = (shape_.num_q_heads + (is_even ? 1 : 0)) / 2;
        const std::int64_t to = (is_even ? place_.current : place_.earlier) + part;
        layer_.o(to, q_head * shape_.head_dim + dim) =
            to_fp32(2 * kRadius / (size * static_cast<double>(shape_.head_dim * alike)));
      }
    }
  }

  // The product of two points, turned back by the angle of point_of(0): silu(a) b + silu(-a) (-b) =
  // a b.
  void plant_sum() {
    const Reader read(shape_, layer_.ffn_norm, 3 + 3 * index_);
    layer_.gate = Matrix::Zero(shape_.ffn, shape_.hidden);
    layer_.up = Matrix::Zero(shape_.ffn, shape_.hidden);
    layer_.down = Matrix::Zero(shape_.hidden, shape_.ffn);
    for (std::int64_t unit = 0; unit < 8; ++unit) {
      const double sign = unit % 2 == 0 ? 1 : -1;
      const std::int64_t a = unit / 2 % 2;
      const std::int64_t b = unit / 4;
      layer_.gate(unit, place_.current + a) = to_fp32(sign * read.of_point(place_.current + a));
      layer_.up(unit, place_.earlier + b) = to_fp32(sign * read.of_point(place_.earlier + b));
      const double size = kRadius / std::numbers::sqrt2;
      layer_.down(place_.sum, unit) = to_fp32(a == 1 && b == 1 ? -size : size);
      layer_.down(place_.sum + 1, unit) = to_fp32(a == 0 && b == 0 ? -size : size);
    }
  }

  const ModelShape& shape_;
  const std::int64_t index_;
  const LayerPlace place_;
  const RandomStream stream_;
  LayerWeights layer_;
};

Matrix draw_embedding(const ModelShape& shape, const RandomStream& stream) {
  Matrix embedding = Matrix::Zero(shape.vocabulary, shape.hidden);
  RandomStream labels = stream.split("labels");
  RandomStream signs = stream.split("signs");
  std::array<std::int64_t, kLabels> first{};  // label of a class's first token
  for (std::int64_t& label : first) label = static_cast<std::int64_t>(labels.next_below(kLabels));
  for (std::int64_t token = 0; token < shape.vocabulary; ++token) {
    const auto of_class = static_cast<std::size_t>(token % kLabels);
    const auto label = point_of(first[of_class] + token / kLabels);
    embedding(token, kOne) = 1;
    embedding(token, kLabel) = to_fp32(kRadius * label[0]);
    embedding(token, kLabel + 1) = to_fp32(kRadius * label[1]);
    for (std::int64_t i = signs_begin(shape.layers); i < shape.hidden; ++i) {
      embedding(token, i) = sign_of(signs);
    }
  }
  return embedding;
}

Matrix draw_head(const ModelShape& shape, const Vector& gains, RandomStream stream) {
  const Reader read(shape, gains, 1 + 3 * shape.layers);
  const std::int64_t sum = place_of(shape.layers).label;
  const std::int64_t begin = signs_begin(shape.layers);
  const double spread = kTokenSpread / std::sqrt(static_cast<double>(shape.hidden - begin));
  Matrix head = Matrix::Zero(shape.vocabulary, shape.hidden);
  for (std::int64_t token = 0; token < shape.vocabulary; ++token) {
    const auto point = point_of(token);
    for (std::int64_t part = 0; part < 2; ++part) {
      head(token, sum + part) =
          to_fp32(kClassLead * point[static_cast<std::size_t>(part)] * read.of_point(sum + part));
    }
    for (std::int64_t i = begin; i < shape.hidden; ++i) {
      const double uniform = 2 * stream.next_unit() - 1;
      head(token, i) = to_fp32(std::sqrt(3.0) * uniform * spread * read.of(i));
    }
  }
  return head;
}

}  // namespace

ModelWeights copying_weights(const ModelShape& shape, std::uint64_t seed) {
  RECTO_CHECK_EQ(check_shape(shape), Status::ok());
  RECTO_CHECK(shape.vocabulary % kLabels == 0 && shape.vocabulary <= kLabels * kLabels);
  RECTO_CHECK_GE(shape.num_q_heads, 2);
  RECTO_CHECK_GE(shape.head_dim, 16);
  RECTO_CHECK_GE(shape.hidden, signs_begin(shape.layers) + 5);
  RECTO_CHECK_GE(shape.ffn, 8);
  const RandomStream stream = RandomStream(seed).split("copying weights");
  ModelWeights weights;
  weights.shape = shape;
  weights.embedding = draw_embedding(shape, stream);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const RandomStream own = stream.split("layer").split(static_cast<std::uint64_t>(layer));
    weights.layers.push_back(LayerDraw(shape, layer, own).draw());
  }
  weights.final_norm = drawn_gains(stream.split("final norm"), shape.hidden, 1);
  weights.head = draw_head(shape, weights.final_norm, stream.split("head"));
  return weights;
}

}  // namespace recto::verify
