#include "experiments/plan/plan_json.h"

namespace recto::experiments {
namespace {

Json memory_json(const PoolSize& pool, const KvPlanOptions& options) {
  Json json = {{"kv_blocks_bytes", pool.pool_bytes.value()},
               {"remainder_bytes", pool.remainder_bytes.value()}};
  if (options.kv_memory) return json;
  json["weight_bytes"] = pool.weight_bytes.value();
  json["reserve_bytes"] = pool.reserve_bytes.value();
  json["unused_bytes"] = pool.unused_bytes.value();
  json["card_bytes"] = options.gpu.memory.value();
  return json;
}

Json length_json(const LengthFit& fit) {
  return {
      {"prompt_tokens", fit.length.prompt.value()}, {"output_tokens", fit.length.output.value()},
      {"tokens", fit.length.total().value()},       {"blocks", fit.blocks.value()},
      {"tail_slots", fit.tail_slots.value()},       {"fit_paged", fit.paged},
      {"fit_contiguous", fit.contiguous},           {"batch_kv_bytes", fit.batch_bytes.value()}};
}

Json mean_fit_json(const MeanFit& fit, const KvPlanOptions& options) {
  Json json = {{"fit", fit.requests},
               {"held_slots", fit.held_slots},
               {"waste_share", fit.waste_share},
               {"pool_share", fit.pool_share}};
  if (!options.kv_memory) json["card_share"] = fit.memory_share;
  return json;
}

}  // namespace

Json plan_json(const KvPlan& plan, const KvPlanOptions& options) {
  const KvShape& shape = options.pool.shape;
  Json json = {{"model", options.model.name}};
  if (!options.kv_memory) {
    json["gpu"] = options.gpu.name;
    json["utilization"] = options.pool.memory_utilization;
  }
  json["tp"] = shape.tensor_parallel;
  json["block_size"] = shape.block_size.value();
  json["kv_element_bytes"] = shape.kv_element_bytes;
  json["max_length"] = plan.max_length.value();
  json["batch"] = options.batch;
  json["memory_per_card"] = memory_json(plan.pool, options);
  json["kv_bytes_per_token_per_card"] = plan.bytes_per_token.value();
  json["kv_bytes_per_block_per_card"] = plan.pool.block_bytes.value();
  json["pool_blocks"] = plan.pool.blocks.value();
  json["pool_slots"] = plan.pool.slots.value();
  json["lengths"] = Json::array();
  for (const LengthFit& fit : plan.lengths) json["lengths"].push_back(length_json(fit));
  json["mean_lengths"] = Json::array();
  for (const MeanLengthFit& fit : plan.mean_lengths) {
    json["mean_lengths"].push_back({{"mean_tokens", fit.mean_length.value()},
                                    {"contiguous", mean_fit_json(fit.contiguous, options)},
                                    {"paged", mean_fit_json(fit.paged, options)}});
  }
  return json;
}

}  // namespace recto::experiments
