#include "verify/engine/model_shape.h"

#include <fmt/format.h>

#include <array>

namespace recto::verify {
namespace {

constexpr std::int64_t kLargest = 1 << 20;     // of any size
constexpr std::int64_t kWeightsMax = 1 << 28;  // 2 GiB of them

struct Size {
  const char* name;
  std::int64_t value;
};

// The number of weights in all matrices, in fp64, which no product of sizes overflows.
double weights_of(const ModelShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const double heads =
      2.0 * (static_cast<double>(shape.num_q_heads) + static_cast<double>(shape.num_kv_heads));
  const double of_layer =
      hidden * (heads * static_cast<double>(shape.head_dim) + 3.0 * static_cast<double>(shape.ffn));
  return static_cast<double>(shape.layers) * of_layer +
         2.0 * hidden * static_cast<double>(shape.vocabulary);
}

}  // namespace

Status check_shape(const ModelShape& shape) {
  const std::array sizes = {Size{"vocabulary", shape.vocabulary},
                            Size{"hidden", shape.hidden},
                            Size{"layers", shape.layers},
                            Size{"num_q_heads", shape.num_q_heads},
                            Size{"num_kv_heads", shape.num_kv_heads},
                            Size{"head_dim", shape.head_dim},
                            Size{"ffn", shape.ffn}};
  for (const Size& size : sizes) {
    if (size.value >= 1 && size.value <= kLargest) continue;
    return Status::invalid_input(
        fmt::format("model: {} = {}; expected 1 to {}", size.name, size.value, kLargest));
  }
  if (shape.vocabulary < 2) {
    return Status::invalid_input(
        fmt::format("model: vocabulary = {}; expected at least 2", shape.vocabulary));
  }
  if (shape.head_dim % 2 != 0) {
    return Status::invalid_input(fmt::format(
        "model: head_dim = {}; expected an even number, as pairs are rotated", shape.head_dim));
  }
  if (shape.num_q_heads % shape.num_kv_heads != 0) {
    return Status::invalid_input(
        fmt::format("model: num_q_heads = {}; expected a multiple of num_kv_heads, which is {}",
                    shape.num_q_heads, shape.num_kv_heads));
  }
  if (const double weights = weights_of(shape); weights > static_cast<double>(kWeightsMax)) {
    return Status::invalid_input(
        fmt::format("model: {:.3g} weights; expected at most {}", weights, kWeightsMax));
  }
  if (!(shape.rotary_base > 1) || !(shape.norm_epsilon > 0)) {
    return Status::invalid_input(
        fmt::format("model: rotary_base = {}, norm_epsilon = {}; expected above 1 and above 0",
                    shape.rotary_base, shape.norm_epsilon));
  }
  return Status::ok();
}

}  // namespace recto::verify
