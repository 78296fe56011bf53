#include "sim/time/step_options.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/time/time_model.h"

namespace recto::sim {
namespace {

constexpr std::int64_t kLargestGraph = 512;

StepLoad decode_side(const StepLoad& load) {
  StepLoad side;
  side.decode_sequences = load.decode_sequences;
  side.decode_kv_tokens = load.decode_kv_tokens;
  side.decode_kv_blocks = load.decode_kv_blocks;
  return side;
}

StepLoad prefill_side(const StepLoad& load) {
  StepLoad side;
  side.prefill_sequences = load.prefill_sequences;
  side.prefill_tokens = load.prefill_tokens;
  side.prefill_kv_tokens = load.prefill_kv_tokens;
  side.prefill_pairs = load.prefill_pairs;
  return side;
}

class SteppedTimeModel final : public TimeModel {
 public:
  SteppedTimeModel(std::unique_ptr<TimeModel> model, StepOptions options)
      : model_(std::move(model)), options_(std::move(options)) {}

  StepCost cost(const StepLoad& load) const override {
    StepLoad padded = load;
    padded.decode_sequences = padded_batch(options_.graph_batch_sizes, load.decode_sequences);
    if (!options_.stream_interference.has_value() || padded.decode_sequences == 0 ||
        padded.prefill_tokens == TokenCount(0)) {
      return model_->cost(padded);
    }
    return overlapped(padded);
  }

  std::string describe() const override {
    std::string text = model_->describe();
    if (!options_.graph_batch_sizes.empty()) {
      text += "; decode batches padded to CUDA graphs of up to " +
              std::to_string(options_.graph_batch_sizes.back());
    }
    if (options_.stream_interference.has_value()) {
      text += "; prefill overlaps decode with interference " +
              std::to_string(*options_.stream_interference);
    }
    return text;
  }

 private:
  StepCost overlapped(const StepLoad& load) const {
    const StepCost decode = model_->cost(decode_side(load));
    const StepCost prefill = model_->cost(prefill_side(load));
    StepCost cost = model_->cost(load);  // supplies the fixed and copy parts
    cost.linear = decode.linear + prefill.linear;
    cost.attention = decode.attention + prefill.attention;
    const SimDuration shorter =
        std::min(decode.linear + decode.attention, prefill.linear + prefill.attention);
    const double slowdown = *options_.stream_interference - 1;
    const SimDuration added = round_ns(slowdown * static_cast<double>(shorter.value()));
    cost.overlap = std::min(added, shorter) - shorter;
    return at_least_one_ns(cost);
  }

  std::unique_ptr<TimeModel> model_;
  StepOptions options_;
};

}  // namespace

std::vector<std::int64_t> vllm_graph_batch_sizes() {
  std::vector<std::int64_t> sizes = {1, 2, 4};
  for (std::int64_t size = 8; size <= kLargestGraph; size += 8) sizes.push_back(size);
  return sizes;
}

std::vector<std::int64_t> power_of_two_graph_batch_sizes() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= kLargestGraph; size *= 2) sizes.push_back(size);
  return sizes;
}

std::int64_t padded_batch(const std::vector<std::int64_t>& sizes, std::int64_t batch) {
  if (batch == 0) return 0;
  const auto size = std::lower_bound(sizes.begin(), sizes.end(), batch);
  return size == sizes.end() ? batch : *size;
}

Result<std::unique_ptr<TimeModel>> with_step_options(std::unique_ptr<TimeModel> model,
                                                     StepOptions options) {
  RECTO_CHECK(model != nullptr);
  std::int64_t previous = 0;
  for (const std::int64_t size : options.graph_batch_sizes) {
    if (size <= previous) {
      return Status::invalid_input("CUDA-graph batch size " + std::to_string(size) +
                                   ": expected sizes that ascend from 1 or more");
    }
    previous = size;
  }
  if (options.stream_interference.has_value() &&
      !(*options.stream_interference >= 1 && *options.stream_interference <= 2)) {
    return Status::invalid_input("stream interference " +
                                 std::to_string(*options.stream_interference) +
                                 ": expected 1 to 2");
  }
  return std::unique_ptr<TimeModel>(
      std::make_unique<SteppedTimeModel>(std::move(model), std::move(options)));
}

}  // namespace recto::sim
