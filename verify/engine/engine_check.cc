// Checks a model's shape, requests, and an engine's options.

#include <fmt/format.h>

#include "verify/engine/engine.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kLargest = 1 << 20;     // of any size
constexpr std::int64_t kWeightsMax = 1 << 28;  // 2 GiB in all

struct Limit {
  const char* name;
  std::int64_t value;
  std::int64_t min;
  std::int64_t max;
};

Status check_limits(std::initializer_list<Limit> limits) {
  for (const Limit& limit : limits) {
    if (limit.value >= limit.min && limit.value <= limit.max) continue;
    return Status::invalid_input(
        fmt::format("{} = {}; expected {} to {}", limit.name, limit.value, limit.min, limit.max));
  }
  return Status::ok();
}

// The number of weights in all matrices, in fp64, so that no product of sizes overflows.
double weights_of(const ModelShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const double heads =
      2.0 * (static_cast<double>(shape.num_q_heads) + static_cast<double>(shape.num_kv_heads));
  const double of_layer =
      hidden * (heads * static_cast<double>(shape.head_dim) + 3.0 * static_cast<double>(shape.ffn));
  return static_cast<double>(shape.layers) * of_layer +
         2.0 * hidden * static_cast<double>(shape.vocabulary);
}

Status check_request(const ModelShape& shape, const GenerationRequest& request) {
  if (request.prompt.empty()) return Status::invalid_input("prompt: expected at least one token");
  for (std::size_t i = 0; i < request.prompt.size(); ++i) {
    const Token token = request.prompt[i];
    if (token >= 0 && token < shape.vocabulary) continue;
    return Status::invalid_input(
        fmt::format("prompt[{}] = {}; expected 0 to {}", i, token, shape.vocabulary - 1));
  }
  const bool is_single = request.decoding == sim::Decoding::kSingle;
  const bool is_beam = request.decoding == sim::Decoding::kBeam;
  // Each beam begins with a different first token.
  const std::int64_t most = is_single ? 1 : is_beam ? shape.vocabulary - 1 : 256;
  RECTO_RETURN_IF_ERROR(check_limits({{"width", request.width, 1, most},
                                      {"output_tokens", request.output_tokens, 1, 1 << 20},
                                      {"arrival_step", request.arrival_step, 0, 1 << 20}}));
  if (!(request.temperature >= 0) || (is_beam && request.temperature != 0)) {
    return Status::invalid_input(
        fmt::format("temperature = {}; expected at least 0, and 0 for beams", request.temperature));
  }
  return Status::ok();
}

}  // namespace

Status check_shape(const ModelShape& shape) {
  RECTO_RETURN_IF_ERROR(check_limits({{"vocabulary", shape.vocabulary, 1, kLargest},
                                      {"hidden", shape.hidden, 1, kLargest},
                                      {"layers", shape.layers, 1, kLargest},
                                      {"num_q_heads", shape.num_q_heads, 1, kLargest},
                                      {"num_kv_heads", shape.num_kv_heads, 1, kLargest},
                                      {"head_dim", shape.head_dim, 1, kLargest},
                                      {"ffn", shape.ffn, 1, kLargest}})
                            .in("model"));
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

Status check_engine(const ModelShape& shape, const std::vector<GenerationRequest>& requests,
                    const EngineOptions& options) {
  RECTO_RETURN_IF_ERROR(check_limits({{"block_size", options.block_size, 1, 1 << 16},
                                      {"num_blocks", options.num_blocks, 1, 1 << 20},
                                      {"host_blocks", options.host_blocks, 0, 1 << 20},
                                      {"max_sequences", options.max_sequences, 1, 1 << 16},
                                      {"max_batched_tokens", options.max_batched_tokens,
                                       options.max_sequences, 1 << 20},
                                      {"max_length", options.max_length, 1, 1 << 20},
                                      {"draft_tokens", options.draft_tokens, 0, 64}})
                            .in("engine"));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string name = fmt::format("request {}", i);
    if (i > 0 && requests[i].arrival_step < requests[i - 1].arrival_step) {
      return Status::invalid_input(
          fmt::format("{}: arrival_step = {}; expected at least {}, that of the request before",
                      name, requests[i].arrival_step, requests[i - 1].arrival_step));
    }
    RECTO_RETURN_IF_ERROR(check_request(shape, requests[i]).in(name));
  }
  return Status::ok();
}

}  // namespace recto::verify
