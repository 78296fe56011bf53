#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "experiments/plan/plan_text.h"
#include "experiments/support/command.h"
#include "experiments/support/model_file.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

struct PlanArguments {
  RunConfig run;  // only its model, card, block size and pool
  std::string kv_dtype = "fp16";
  std::optional<double> reserve_gib;  // nullopt: kDefaultReserve
  std::vector<std::int64_t> lengths;
  std::optional<std::int64_t> prompt;
  std::optional<std::int64_t> output;
  std::vector<std::int64_t> mean_lengths;
  std::optional<std::int64_t> max_length;
  std::int64_t batch = 1;
  bool is_ungrouped = false;  // as if each query head had a KV head of its own
  std::optional<std::int64_t> times;
  std::optional<double> waste_below;
  bool is_json = false;
  bool lists_models = false;
  bool lists_gpus = false;
  bool lists_both = false;
};

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr std::int64_t kUsualLengths[] = {512, 1024, 2048, 4096, 8192, 32'768, 131'072};

// The model with a KV head for each query head; its projections grow with it.
ModelSpec without_grouped_heads(const ModelSpec& model) {
  ModelSpec ungrouped = model;
  ungrouped.num_kv_heads = model.num_q_heads;
  ungrouped.parameter_count += count_parameters(ungrouped) - count_parameters(model);
  return ungrouped;
}

std::vector<RequestLength> lengths_of(const PlanArguments& arguments, TokenCount max_length) {
  std::vector<RequestLength> lengths;
  for (const std::int64_t length : arguments.lengths) {
    lengths.push_back({TokenCount(length), TokenCount(0)});
  }
  if (arguments.prompt || arguments.output) {
    lengths.push_back(
        {TokenCount(arguments.prompt.value_or(0)), TokenCount(arguments.output.value_or(0))});
  }
  if (!lengths.empty() || !arguments.mean_lengths.empty()) return lengths;
  for (const std::int64_t length : kUsualLengths) {
    if (TokenCount(length) < max_length) lengths.push_back({TokenCount(length), TokenCount(0)});
  }
  lengths.push_back({max_length, TokenCount(0)});
  return lengths;
}

// Looks names up, and uses common lengths by default. Invalid input names the flag; make_kv_plan
// checks the rest.
Result<KvPlanOptions> plan_options(const PlanArguments& arguments) {
  KvPlanOptions options;
  const Result<ModelSpec> model = model_of(arguments.run);
  RECTO_RETURN_IF_ERROR(model.status());
  options.model = arguments.is_ungrouped ? without_grouped_heads(model.value()) : model.value();
  const Result<GpuSpec> gpu = find_gpu(arguments.run.gpu);
  RECTO_RETURN_IF_ERROR(gpu.status().in("--gpu"));
  options.gpu = gpu.value();
  const std::int64_t element_bytes = arguments.kv_dtype == "fp32"  ? 4
                                     : arguments.kv_dtype == "fp8" ? 1
                                                                   : 2;
  options.pool.shape = {.block_size = TokenCount(arguments.run.block_size),
                        .kv_element_bytes = element_bytes,
                        .tensor_parallel = arguments.run.tp};
  options.pool.memory_utilization = arguments.run.utilization;
  if (arguments.reserve_gib) {
    options.pool.reserve =
        ByteCount(static_cast<std::int64_t>(std::floor(*arguments.reserve_gib * kGib)));
  }
  if (arguments.run.pool_gib) {
    options.kv_memory =
        ByteCount(static_cast<std::int64_t>(std::floor(*arguments.run.pool_gib * kGib)));
  }
  if (arguments.max_length) options.max_length = TokenCount(*arguments.max_length);
  options.lengths = lengths_of(arguments, options.max_length.value_or(options.model.max_context));
  for (const std::int64_t length : arguments.mean_lengths) {
    options.mean_lengths.push_back(TokenCount(length));
  }
  options.batch = arguments.batch;
  return options;
}

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

// Bytes, and shares between 0 and 1. `options` are the options of the plan.
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

constexpr std::int64_t kTokensMax = 1'000'000'000;

constexpr std::array<std::string_view, 7> kRunFlags{"model",       "model_file", "gpu",       "tp",
                                                    "utilization", "pool_gib",   "block_size"};

constexpr const char* kFooter = R"(
If the model does not fit, the plan ends with exit code 2, the figures, and the fewest cards that
suffice.

Examples:
  recto plan --model Llama-3.1-8B --gpu RTX-4090
  recto plan --model OPT-66B --gpu A100-40 --tp 4 --prompt 512 --output 256
  recto plan --model OPT-13B --pool-gib 12 --mean-length 499
  recto plan --model Llama-3.1-8B --gpu RTX-4090 --utilization 1 --max-length 8192 \
      --mean-length 360,792 --times 7 --waste-below 1
  recto plan --model Llama-2-70B --no-gqa --gpu H200 --tp 8 --length 4096 --batch 8)";

Status plan(const PlanArguments& arguments, CommandContext& context) {
  if (arguments.lists_models || arguments.lists_gpus || arguments.lists_both) {
    if (arguments.is_json) {
      return Status::invalid_input("--json: found with a list; expected a plan");
    }
    const bool both = arguments.lists_both || (arguments.lists_models && arguments.lists_gpus);
    if (both || arguments.lists_models) context.out << models_text();
    if (both) context.out << '\n';
    if (both || arguments.lists_gpus) context.out << gpus_text();
    return Status::ok();
  }
  const Result<KvPlanOptions> options = plan_options(arguments);
  RECTO_RETURN_IF_ERROR(options.status());
  const Result<KvPlan> made = make_kv_plan(options.value());
  RECTO_RETURN_IF_ERROR(made.status());
  if (arguments.is_json) {
    context.out << json_text(plan_json(made.value(), options.value()), 2) << '\n';
    return Status::ok();
  }
  context.out << plan_text(made.value(), options.value());
  if (arguments.times || arguments.waste_below) context.out << '\n';
  if (arguments.times) context.out << edge_text(made.value(), options.value(), *arguments.times);
  if (arguments.waste_below) {
    context.out << waste_edge_text(made.value(), options.value(), *arguments.waste_below);
  }
  return Status::ok();
}

void add_length_flags(Command& command, PlanArguments& arguments) {
  constexpr CountRange kTokens{1, kTokensMax};
  const OptionGroup requests{command, "Requests"};
  requests.add("--length TOKENS,...", integers(arguments.lengths, kTokens),
               "print how many requests of each length fit");
  requests.add("--prompt TOKENS", integer(arguments.prompt, kTokens), "the same, as prompt ...");
  requests.add("--output TOKENS", integer(arguments.output, kTokens), "... and output");
  requests.add("--mean-length TOKENS,...", integers(arguments.mean_lengths, kTokens),
               "compare reservations and blocks for requests that\nhave this length on average");
  requests.add("--max-length TOKENS", integer(arguments.max_length, kTokens),
               "what a contiguous cache reserves for each request\n[the model's longest context]");
  requests.add(
      "--times N", integer(arguments.times, kTokens),
      "largest mean length at which blocks hold N times as many\nrequests as reservations");
  requests.add("--waste-below PERCENT", number(arguments.waste_below, {0.0001, 100}),
               "smallest mean length at which blocks waste less than\nthis percentage");
  requests.add("--batch N", integer(arguments.batch, {1, 1'000'000}),
               "print the KV bytes of N requests [1]");
}

void add_memory_flags(Command& command, PlanArguments& arguments) {
  std::vector<std::string_view> others;
  for (const RunField& field : run_fields()) {
    if (std::ranges::find(kRunFlags, field.name) == kRunFlags.end()) others.push_back(field.name);
  }
  add_run_flags(command, arguments.run, others);
  const OptionGroup memory{command, "Memory"};
  memory.add("--kv-dtype fp32|fp16|bf16|fp8",
             one_of(arguments.kv_dtype, {"fp32", "fp16", "bf16", "fp8"}), "type of K and V [fp16]");
  memory.add("--reserve-gib GIB", number(arguments.reserve_gib, {0, 1e6}),
             "memory per card for all but weights and KV [1.34]");
  memory.add("--no-gqa", flag(arguments.is_ungrouped),
             "as if each query head had a KV head of its own");
}

}  // namespace

Command plan_command() {
  auto arguments = std::make_shared<PlanArguments>();
  Command command("plan", "how many blocks, tokens and requests fit on a card");
  add_memory_flags(command, *arguments);
  add_length_flags(command, *arguments);
  command.add("--json", flag(arguments->is_json), "print JSON");
  command.add("--list", flag(arguments->lists_both), "show all models and cards");
  command.add("--list-models", flag(arguments->lists_models), "show all models");
  command.add("--list-gpus", flag(arguments->lists_gpus), "show all cards");
  command.footer = kFooter;
  command.run = [arguments](CommandContext& context) { return plan(*arguments, context); };
  return command;
}

}  // namespace recto::experiments
