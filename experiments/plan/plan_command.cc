#include "experiments/plan/plan_command.h"

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
#include "experiments/support/run_fields.h"
#include "experiments/support/run_flags.h"
#include "experiments/support/usage_error.h"

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

void add_length_flags(CLI::App& command, PlanArguments& arguments) {
  PlanSettings& settings = arguments.settings;
  const auto tokens = CLI::Range(std::int64_t{1}, kTokensMax);
  const auto list = [&](const char* name, std::vector<std::int64_t>& values, const char* help) {
    command.add_option(name, values, help)
        ->option_text("TOKENS,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(tokens)
        ->group("Requests");
  };
  const auto one = [&](const char* name, std::optional<std::int64_t>& value, const char* help) {
    return command.add_option(name, value, help)->check(tokens)->group("Requests");
  };
  list("--length", settings.lengths, "tell how many requests of each length fit");
  one("--prompt", settings.prompt, "the same, as prompt ...")->option_text("TOKENS");
  one("--output", settings.output, "... and output")->option_text("TOKENS");
  list("--mean-length", settings.mean_lengths,
       "compare reservations and blocks for requests that\nhave this length on average");
  one("--max-length", settings.max_length,
      "what a contiguous cache reserves for each request\n[the model's longest context]")
      ->option_text("TOKENS");
  one("--times", arguments.times,
      "up to which mean length do blocks hold N times as many\nrequests as reservations?")
      ->option_text("N");
  command
      .add_option("--waste-below", arguments.waste_below,
                  "from which mean length on do blocks waste less than\nso many percent?")
      ->option_text("PERCENT")
      ->check(number_within(0.0001, 100))
      ->group("Requests");
  command.add_option("--batch", settings.batch, "tell the KV bytes of N requests [1]")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->group("Requests");
}

void add_memory_flags(CLI::App& command, PlanArguments& arguments) {
  std::vector<std::string_view> others;
  for (const RunField& field : run_fields()) {
    if (std::ranges::find(kRunFlags, field.name) == kRunFlags.end()) others.push_back(field.name);
  }
  add_run_flags(command, arguments.settings.run, others);
  std::vector<std::string> names;
  for (const KvDtype& dtype : kv_dtypes()) names.emplace_back(dtype.name);
  command.add_option("--kv-dtype", arguments.settings.kv_dtype, "of K and V [fp16]")
      ->option_text("fp32|fp16|bf16|fp8")
      ->check(CLI::IsMember(names))
      ->group("Memory");
  command
      .add_option("--reserve-gib", arguments.settings.reserve_gib,
                  "of each card, for all but weights and KV [1.34]")
      ->option_text("GIB")
      ->check(number_within(0, 1e6))
      ->group("Memory");
  command
      .add_flag("--no-gqa", arguments.is_ungrouped,
                "as if each query head had a KV head of its own")
      ->group("Memory");
}

}  // namespace

void add_plan_command(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command =
      app.add_subcommand("plan", "how many blocks, tokens and requests fit on a card");
  add_memory_flags(*command, *arguments);
  add_length_flags(*command, *arguments);
  command->add_flag("--json", arguments->is_json, "for machines");
  command->add_flag("--list", arguments->lists_both, "show all models and cards");
  command->add_flag("--list-models", arguments->lists_models, "show all models");
  command->add_flag("--list-gpus", arguments->lists_gpus, "show all cards");
  command->footer(kFooter);
  command->callback([arguments, &context] {
    context.chosen = [arguments, &context] { return plan(*arguments, context); };
  });
}

}  // namespace recto::experiments
