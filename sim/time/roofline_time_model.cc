#include "sim/time/roofline_time_model.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

#include "sim/time/time_model.h"

namespace recto::sim {
namespace {

constexpr double kNs = 1e9;  // per second

// Activations of all-reduces are 16-bit, as are the matrix products.
constexpr double kActivationBytes = 2;

// Two all-reduces per layer: after the attention output and after the FFN.
constexpr double kAllReducesPerLayer = 2;

Status check_rates(const GpuSpec& gpu) {
  const std::pair<const char*, double> rates[] = {
      {"memory_bandwidth_bytes_per_s", gpu.memory_bandwidth_bytes_per_s},
      {"dense_16bit_flops_per_s", gpu.dense_16bit_flops_per_s},
      {"peer_link_bytes_per_s", gpu.peer_link_bytes_per_s},
  };
  for (const auto& [field, rate] : rates) {
    if (rate > 0) continue;
    return Status::invalid_input("GPU '" + gpu.name + "', field '" + field +
                                 "': " + std::to_string(rate) + "; expected more than 0");
  }
  return Status::ok();
}

Status check_setup(const RooflineSetup& setup) {
  RECTO_RETURN_IF_ERROR(check_model(setup.model));
  RECTO_RETURN_IF_ERROR(check_kv_shape(setup.model, setup.shape));
  RECTO_RETURN_IF_ERROR(check_attention_curve(setup.curve));
  RECTO_RETURN_IF_ERROR(check_rates(setup.gpu));
  for (const NamedConstant& named : named_constants(setup.constants)) {
    const double value = named.constant.value;
    const bool is_efficiency = std::string(named.name).find("efficiency") != std::string::npos;
    if (is_efficiency ? !(value > 0 && value <= 1) : !(value >= 0 && value <= kNs)) {
      return Status::invalid_input(std::string("constant '") + named.name +
                                   "': " + std::to_string(value) + "; expected " +
                                   (is_efficiency ? "above 0, at most 1" : "0 to 1e9"));
    }
  }
  return Status::ok();
}

double to_double(std::int64_t value) { return static_cast<double>(value); }

void set_linear_rates(const RooflineSetup& setup, RooflineRates& rates) {
  const ModelSpec& model = setup.model;
  const double ranks = to_double(setup.shape.tensor_parallel);
  const double layers = to_double(model.num_layers);
  const double in_layers = layers * to_double(layer_matmul_parameters(model)) / ranks;
  const double in_head = to_double(output_head_parameters(model)) / ranks;
  const double bandwidth =
      setup.gpu.memory_bandwidth_bytes_per_s * setup.constants.streaming_efficiency.value;
  const double flops = setup.gpu.dense_16bit_flops_per_s * setup.constants.matmul_efficiency.value;
  // A separate input embedding is looked up row by row and not counted.
  rates.weight_read_ns =
      (in_layers + in_head) * to_double(model.weight_element_bytes) / bandwidth * kNs;
  rates.token_matmul_ns = 2 * in_layers / flops * kNs;
  rates.head_matmul_ns = 2 * in_head / flops * kNs;
  if (setup.shape.tensor_parallel == 1) return;
  const double link = setup.gpu.peer_link_bytes_per_s * setup.constants.link_efficiency.value;
  const double reduces = kAllReducesPerLayer * layers;
  const double ring_share = 2 * (ranks - 1) / ranks;
  rates.all_reduce_latency_ns = reduces * setup.constants.all_reduce_latency_ns.value;
  rates.all_reduce_token_ns =
      reduces * ring_share * to_double(model.hidden_size) * kActivationBytes / link * kNs;
}

void set_attention_rates(const RooflineSetup& setup, RooflineRates& rates) {
  const ModelSpec& model = setup.model;
  const double layers = to_double(model.num_layers);
  const double peak_bandwidth = setup.gpu.memory_bandwidth_bytes_per_s;
  const double kv_bytes = to_double(kv_bytes_per_token(model, setup.shape).value());
  const double efficiency = attention_efficiency(setup.curve, setup.shape.block_size);
  rates.kv_token_read_ns = kv_bytes / (peak_bandwidth * efficiency) * kNs;
  const double kv_heads = to_double(kv_heads_per_rank(model, setup.shape));
  rates.kv_block_ns = layers * kv_heads * setup.constants.table_entry_read_bytes.value /
                      (peak_bandwidth * setup.constants.streaming_efficiency.value) * kNs;
  // Two products of head_dim multiply-adds per pair and query head.
  const double pair_flops = 4 * layers * to_double(model.head_dim) * to_double(model.num_q_heads) /
                            to_double(setup.shape.tensor_parallel);
  rates.prefill_pair_ns =
      pair_flops /
      (setup.gpu.dense_16bit_flops_per_s * setup.constants.prefill_attention_efficiency.value) *
      kNs;
  rates.copied_slot_ns =
      2 * kv_bytes / (peak_bandwidth * setup.constants.streaming_efficiency.value) * kNs;
}

std::string make_description(const RooflineSetup& setup) {
  std::ostringstream text;
  text << "roofline: " << setup.model.name << " on " << setup.shape.tensor_parallel << " x "
       << setup.gpu.name << ", block " << setup.shape.block_size
       << "; constants cited, not measured on this card; attention curve "
       << describe_curve(setup.curve);
  return text.str();
}

}  // namespace

Result<RooflineTimeModel> RooflineTimeModel::make(const RooflineSetup& setup) {
  RECTO_RETURN_IF_ERROR(check_setup(setup));
  return RooflineTimeModel(setup);
}

RooflineTimeModel::RooflineTimeModel(const RooflineSetup& setup)
    : description_(make_description(setup)) {
  const RooflineConstants& constants = setup.constants;
  rates_.fixed_ns = to_double(setup.model.num_layers) * constants.kernels_per_layer.value *
                    constants.kernel_launch_ns.value;
  if (setup.host_work == HostWork::kExposed) rates_.fixed_ns += constants.exposed_host_ns.value;
  set_linear_rates(setup, rates_);
  set_attention_rates(setup, rates_);
}

StepCost RooflineTimeModel::cost(const StepLoad& load) const {
  StepCost cost;
  cost.fixed = round_ns(rates_.fixed_ns);
  cost.copy = round_ns(rates_.copied_slot_ns * to_double(load.copied_slots.value()));

  const double tokens = to_double(load.decode_sequences + load.prefill_tokens.value());
  if (tokens > 0) {
    // A chunk before the end of its prompt needs no logits; counting its row costs almost nothing.
    const double sampled = to_double(load.decode_sequences + load.prefill_sequences);
    const double matmul_ns = rates_.token_matmul_ns * tokens + rates_.head_matmul_ns * sampled;
    const double reduce_ns = rates_.all_reduce_latency_ns + rates_.all_reduce_token_ns * tokens;
    cost.linear = round_ns(std::max(rates_.weight_read_ns, matmul_ns) + reduce_ns);
  }

  const double decode_ns = rates_.kv_token_read_ns * to_double(load.decode_kv_tokens.value()) +
                           rates_.kv_block_ns * to_double(load.decode_kv_blocks.value());
  const double prefill_ns =
      std::max(rates_.kv_token_read_ns * to_double(load.prefill_kv_tokens.value()),
               rates_.prefill_pair_ns * to_double(load.prefill_pairs));
  cost.attention = round_ns(decode_ns + prefill_ns);
  return at_least_one_ns(cost);
}

std::string RooflineTimeModel::describe() const { return description_; }

}  // namespace recto::sim
