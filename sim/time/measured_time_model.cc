#include "sim/time/measured_time_model.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "sim/time/time_model.h"

namespace recto::sim {
namespace {

double to_double(std::int64_t value) { return static_cast<double>(value); }

// The kernel properties that measurements are selected by, for one rank with its share of the
// heads.
struct KernelShape {
  std::int64_t group = 0;
  std::int64_t head_dim = 0;
  std::int64_t kv_element_bytes = 0;
  std::optional<std::int64_t> block_size;  // none: contiguous

  auto operator<=>(const KernelShape&) const = default;
};

KernelShape shape_of(const MeasuredSetup& setup) {
  const ModelSpec& model = setup.roofline.model;
  const KvShape& shape = setup.roofline.shape;
  const std::int64_t q_heads = model.num_q_heads / shape.tensor_parallel;
  const bool is_contiguous = setup.placement == KvPlacement::kContiguous;
  return {q_heads / kv_heads_per_rank(model, shape), model.head_dim, shape.kv_element_bytes,
          is_contiguous ? std::nullopt : std::optional(shape.block_size.value())};
}

KernelShape shape_of(const MeasuredAttention& measured) {
  return {measured.group, measured.head_dim, measured.kv_element_bytes,
          measured.is_contiguous ? std::nullopt : std::optional(measured.block_size)};
}

std::string text_of(const KernelShape& shape) {
  std::ostringstream text;
  text << "group " << shape.group << ", head dim " << shape.head_dim << ", KV elements of "
       << shape.kv_element_bytes << " B, ";
  if (shape.block_size) {
    text << "block " << *shape.block_size;
  } else {
    text << "contiguous";
  }
  return text.str();
}

const char* name_of(MeasuredStage stage) {
  return stage == MeasuredStage::kDecode ? "decode" : "prefill";
}

// Among the measured shapes of the stage, those that agree with the wanted shape in most fields.
std::string nearest(const MeasuredTimes& times, MeasuredStage stage, const KernelShape& wanted) {
  const auto agreement = [&](const KernelShape& shape) {
    return (shape.group == wanted.group) + (shape.head_dim == wanted.head_dim) +
           (shape.kv_element_bytes == wanted.kv_element_bytes) +
           (shape.block_size == wanted.block_size);
  };
  std::set<KernelShape> found;
  int best = 0;
  for (const MeasuredAttention& measured : times.attention) {
    if (measured.stage != stage) continue;
    const KernelShape shape = shape_of(measured);
    if (agreement(shape) > best) found.clear();
    best = std::max(best, agreement(shape));
    if (agreement(shape) == best) found.insert(shape);
  }
  std::string text;
  for (const KernelShape& shape : found) text += (text.empty() ? "" : "; ") + text_of(shape);
  return text.empty() ? "none" : text;
}

Result<std::vector<MeasuredPoint>> points_of(const MeasuredTimes& times, MeasuredStage stage,
                                             const KernelShape& wanted) {
  std::vector<MeasuredPoint> points;
  for (const MeasuredAttention& measured : times.attention) {
    if (measured.stage != stage || shape_of(measured) != wanted) continue;
    points.push_back(
        {stage == MeasuredStage::kDecode ? measured.kv_bytes : measured.flops, measured.ns});
  }
  if (!points.empty()) return points;
  return Status::invalid_input(times.gpu + ": " + name_of(stage) + " was not measured with " +
                               text_of(wanted) +
                               "; nearest measured: " + nearest(times, stage, wanted));
}

// The card with its measured rates, to which no efficiencies apply.
RooflineSetup with_rates(RooflineSetup setup, const MeasuredTimes& times) {
  setup.gpu.memory_bandwidth_bytes_per_s = times.copied_bytes_per_s;
  setup.gpu.dense_16bit_flops_per_s = times.matrix_flops_per_s;
  setup.constants.streaming_efficiency = {1, "measured"};
  setup.constants.matmul_efficiency = {1, "measured"};
  return setup;
}

}  // namespace

Result<MeasuredTimeModel> MeasuredTimeModel::make(const MeasuredSetup& setup,
                                                  const MeasuredTimes& times) {
  Result<RooflineTimeModel> roofline = RooflineTimeModel::make(with_rates(setup.roofline, times));
  if (!roofline.is_ok()) return roofline.status();
  const KernelShape wanted = shape_of(setup);
  Result<std::vector<MeasuredPoint>> decode = points_of(times, MeasuredStage::kDecode, wanted);
  if (!decode.is_ok()) return decode.status();
  Result<std::vector<MeasuredPoint>> prefill = points_of(times, MeasuredStage::kPrefill, wanted);
  if (!prefill.is_ok()) return prefill.status();
  return MeasuredTimeModel(setup, times, std::move(roofline).value(), std::move(decode).value(),
                           std::move(prefill).value());
}

MeasuredTimeModel::MeasuredTimeModel(const MeasuredSetup& setup, const MeasuredTimes& times,
                                     RooflineTimeModel roofline, std::vector<MeasuredPoint> decode,
                                     std::vector<MeasuredPoint> prefill)
    : roofline_(std::move(roofline)),
      decode_(std::move(decode)),
      prefill_(std::move(prefill)),
      layers_(to_double(setup.roofline.model.num_layers)) {
  const ModelSpec& model = setup.roofline.model;
  const KvShape& shape = setup.roofline.shape;
  token_bytes_ = to_double(kv_bytes_per_token(model, shape).value()) / layers_;
  pair_flops_ = 4 * to_double(model.head_dim * (model.num_q_heads / shape.tensor_parallel));
  std::ostringstream text;
  text << "measured: attention on " << times.gpu << " (commit " << times.commit << ", "
       << times.date << "), " << text_of(shape_of(setup)) << "; " << model.name << " on "
       << shape.tensor_parallel << " such cards, weights and products at its copy and matrix rate; "
       << "launches and links cited, not measured";
  description_ = text.str();
}

MeasuredDecode MeasuredTimeModel::decode(TokenCount tokens) const {
  const double bytes = token_bytes_ * to_double(tokens.value());
  return {.ns = layers_ * decode_.ns(bytes), .part = decode_.part(bytes)};
}

StepCost MeasuredTimeModel::cost(const StepLoad& load) const {
  StepCost cost = roofline_.cost(load);
  const double decode_ns = decode_.ns(token_bytes_ * to_double(load.decode_kv_tokens.value()));
  const double read_ns = decode_.ns(token_bytes_ * to_double(load.prefill_kv_tokens.value()));
  const double product_ns = prefill_.ns(pair_flops_ * to_double(load.prefill_pairs));
  cost.attention = round_ns(layers_ * (decode_ns + std::max(read_ns, product_ns)));
  return at_least_one_ns(cost);
}

}  // namespace recto::sim
