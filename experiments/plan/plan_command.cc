#include "experiments/support/command.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "experiments/plan/plan_json.h"
#include "experiments/plan/plan_settings.h"
#include "experiments/plan/plan_text.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

constexpr std::int64_t kTokensMax = 1'000'000'000;

constexpr std::array<std::string_view, 7> kRunFlags{"model",       "model_file", "gpu",       "tp",
                                                    "utilization", "pool_gib",   "block_size"};

constexpr const char* kFooter = R"(
A plan for a model that does not fit ends with exit code 2, the figures, and the fewest cards that
are enough.

Examples:
  recto plan --model Llama-3.1-8B --gpu RTX-4090
  recto plan --model OPT-66B --gpu A100-40 --tp 4 --prompt 512 --output 256
  recto plan --model OPT-13B --pool-gib 12 --mean-length 499
  recto plan --model Llama-3.1-8B --gpu RTX-4090 --utilization 1 --max-length 8192 \
      --mean-length 360,792 --times 7 --waste-below 1
  recto plan --model Llama-2-70B --no-gqa --gpu H200 --tp 8 --length 4096 --batch 8)";

struct PlanArguments {
  PlanSettings settings;
  std::optional<std::int64_t> times;
  std::optional<double> waste_below;
  bool is_ungrouped = false;
  bool is_json = false;
  bool lists_models = false;
  bool lists_gpus = false;
  bool lists_both = false;
};

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
  PlanSettings settings = arguments.settings;
  if (arguments.is_ungrouped) settings.kv_heads = PlanSettings::KvHeads::kOnePerQueryHead;
  const Result<KvPlanOptions> options = plan_options(settings);
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
  PlanSettings& settings = arguments.settings;
  constexpr CountRange kTokens{1, kTokensMax};
  const OptionGroup requests{command, "Requests"};
  requests.add("--length TOKENS,...", integers(settings.lengths, kTokens),
               "tell how many requests of each length fit");
  requests.add("--prompt TOKENS", integer(settings.prompt, kTokens), "the same, as prompt ...");
  requests.add("--output TOKENS", integer(settings.output, kTokens), "... and output");
  requests.add("--mean-length TOKENS,...", integers(settings.mean_lengths, kTokens),
               "compare reservations and blocks for requests that\nhave this length on average");
  requests.add("--max-length TOKENS", integer(settings.max_length, kTokens),
               "what a contiguous cache reserves for each request\n[the model's longest context]");
  requests.add("--times N", integer(arguments.times, kTokens),
               "up to which mean length do blocks hold N times as many\nrequests as reservations?");
  requests.add("--waste-below PERCENT", number(arguments.waste_below, {0.0001, 100}),
               "from which mean length on do blocks waste less than\nso many percent?");
  requests.add("--batch N", integer(settings.batch, {1, 1'000'000}),
               "tell the KV bytes of N requests [1]");
}

void add_memory_flags(Command& command, PlanArguments& arguments) {
  std::vector<std::string_view> others;
  for (const RunField& field : run_fields()) {
    if (std::ranges::find(kRunFlags, field.name) == kRunFlags.end()) others.push_back(field.name);
  }
  PlanSettings& settings = arguments.settings;
  add_run_flags(command, settings.run, others);
  std::vector<std::string> dtypes;
  for (const KvDtype& dtype : kv_dtypes()) dtypes.emplace_back(dtype.name);
  const OptionGroup memory{command, "Memory"};
  memory.add("--kv-dtype fp32|fp16|bf16|fp8", one_of(settings.kv_dtype, dtypes),
             "of K and V [fp16]");
  memory.add("--reserve-gib GIB", number(settings.reserve_gib, {0, 1e6}),
             "of each card, for all but weights and KV [1.34]");
  memory.add("--no-gqa", flag(arguments.is_ungrouped),
             "as if each query head had a KV head of its own");
}

}  // namespace

Command plan_command() {
  auto arguments = std::make_shared<PlanArguments>();
  Command command("plan", "how many blocks, tokens and requests fit on a card");
  add_memory_flags(command, *arguments);
  add_length_flags(command, *arguments);
  command.add("--json", flag(arguments->is_json), "for machines");
  command.add("--list", flag(arguments->lists_both), "show all models and cards");
  command.add("--list-models", flag(arguments->lists_models), "show all models");
  command.add("--list-gpus", flag(arguments->lists_gpus), "show all cards");
  command.footer = kFooter;
  command.run = [arguments](CommandContext& context) { return plan(*arguments, context); };
  return command;
}

}  // namespace recto::experiments
