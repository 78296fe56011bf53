#include "experiments/plan/plan_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/support/model_file.h"

namespace recto::experiments {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr std::int64_t kUsualLengths[] = {512, 1024, 2048, 4096, 8192, 32'768, 131'072};

// The model with a KV head for each query head; its projections grow with it.
ModelSpec without_grouped_heads(const ModelSpec& model) {
  ModelSpec ungrouped = model;
  ungrouped.num_kv_heads = model.num_q_heads;
  ungrouped.parameter_count += count_parameters(ungrouped) - count_parameters(model);
  return ungrouped;
}

Result<std::int64_t> element_bytes(const std::string& kv_dtype) {
  const auto dtype = std::ranges::find(kv_dtypes(), kv_dtype, &KvDtype::name);
  if (dtype != kv_dtypes().end()) return dtype->bytes;
  return Status::invalid_input(
      fmt::format("--kv-dtype: found '{}'; expected fp32, fp16, bf16 or fp8", kv_dtype));
}

std::vector<RequestLength> lengths_of(const PlanSettings& settings, TokenCount max_length) {
  std::vector<RequestLength> lengths;
  for (const std::int64_t length : settings.lengths) {
    lengths.push_back({TokenCount(length), TokenCount(0)});
  }
  if (settings.prompt || settings.output) {
    lengths.push_back(
        {TokenCount(settings.prompt.value_or(0)), TokenCount(settings.output.value_or(0))});
  }
  if (!lengths.empty() || !settings.mean_lengths.empty()) return lengths;
  for (const std::int64_t length : kUsualLengths) {
    if (TokenCount(length) < max_length) lengths.push_back({TokenCount(length), TokenCount(0)});
  }
  lengths.push_back({max_length, TokenCount(0)});
  return lengths;
}

}  // namespace

const std::vector<KvDtype>& kv_dtypes() {
  static const std::vector<KvDtype> kDtypes{{"fp32", 4}, {"fp16", 2}, {"bf16", 2}, {"fp8", 1}};
  return kDtypes;
}

Result<KvPlanOptions> plan_options(const PlanSettings& settings) {
  KvPlanOptions options;
  const Result<ModelSpec> model = model_of(settings.run);
  RECTO_RETURN_IF_ERROR(model.status());
  options.model = settings.kv_heads == PlanSettings::KvHeads::kOnePerQueryHead
                      ? without_grouped_heads(model.value())
                      : model.value();
  const Result<GpuSpec> gpu = find_gpu(settings.run.gpu);
  RECTO_RETURN_IF_ERROR(gpu.status().in("--gpu"));
  options.gpu = gpu.value();
  const Result<std::int64_t> bytes = element_bytes(settings.kv_dtype);
  RECTO_RETURN_IF_ERROR(bytes.status());
  options.pool.shape = {.block_size = TokenCount(settings.run.block_size),
                        .kv_element_bytes = bytes.value(),
                        .tensor_parallel = settings.run.tp};
  options.pool.memory_utilization = settings.run.utilization;
  if (settings.reserve_gib) {
    options.pool.reserve =
        ByteCount(static_cast<std::int64_t>(std::floor(*settings.reserve_gib * kGib)));
  }
  if (settings.run.pool_gib) {
    options.kv_memory =
        ByteCount(static_cast<std::int64_t>(std::floor(*settings.run.pool_gib * kGib)));
  }
  if (settings.max_length) options.max_length = TokenCount(*settings.max_length);
  options.lengths = lengths_of(settings, options.max_length.value_or(options.model.max_context));
  for (const std::int64_t length : settings.mean_lengths) {
    options.mean_lengths.push_back(TokenCount(length));
  }
  options.batch = settings.batch;
  return options;
}

}  // namespace recto::experiments
