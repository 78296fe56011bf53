#include "experiments/support/unused_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "experiments/support/request_source.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_fields.h"
#include "experiments/support/shell_word.h"

namespace recto::experiments {
namespace {

bool is_continuous(const RunConfig& config) { return config.batching == "continuous"; }
bool is_paged(const RunConfig& config) { return !is_contiguous(config); }
bool swaps(const RunConfig& config) { return config.preemption == "swap"; }
bool is_roofline(const RunConfig& config) { return config.time_model == "roofline"; }
bool has_host_work(const RunConfig& config) { return !config.time_model.starts_with("linear:"); }
bool has_sessions(const RunConfig& config) {
  const auto options = synthetic_options(config);
  return options.is_ok() && options.value().sharing.has_sessions();
}

// `setting` has an effect only where `has_effect`; `why` says so.
struct Condition {
  std::string_view setting;
  bool (*has_effect)(const RunConfig& config);
  std::string_view why;
};

constexpr std::string_view kOfContinuous =
    "it applies to --batching continuous; static batches are filled up to --max-sequences and "
    "never preempted";
constexpr std::string_view kOfPaged = "it applies to the allocators paged and prefix-cached";
constexpr std::string_view kOfRoofline = "it applies to --time-model roofline";
constexpr std::string_view kOfSwap = "it applies to --preemption swap";

// A setting has an effect where all of its conditions hold.
constexpr Condition kConditions[] = {
    {"follow_ups", has_sessions,
     "it applies to workloads with sessions, such as chat; see "
     "--sharing"},
    {"seed", draws_by_chance, "a trace draws nothing by chance"},
    {"placement", is_contiguous, "it applies to the allocators contiguous-max, -pow2 and -oracle"},
    {"block_size",
     [](const RunConfig& config) { return is_paged(config) || config.pool_blocks.has_value(); },
     kOfPaged},
    {"null_blocks", is_paged, kOfPaged},
    {"model", [](const RunConfig& config) { return config.model_file.empty(); },
     "--model-file says which"},
    {"utilization",
     [](const RunConfig& config) {
       return !config.pool_gib && !config.pool_slots && !config.pool_blocks;
     },
     "the size of the pool was given"},
    {"max_batched_tokens", is_continuous, kOfContinuous},
    {"prefill", is_continuous, kOfContinuous},
    {"admission", is_continuous, kOfContinuous},
    {"admission", [](const RunConfig& config) { return config.prefill == "chunked"; },
     "it applies to --prefill chunked"},
    {"preemption", is_continuous, kOfContinuous},
    {"preemption", [](const RunConfig& config) { return config.host_gib > 0; },
     "nothing can be swapped to a host of --host-gib 0; expected --host-gib above 0"},
    {"host_gib", is_continuous, kOfContinuous},
    {"host_gib", swaps, kOfSwap},
    {"host_bandwidth", is_continuous, kOfContinuous},
    {"host_bandwidth", swaps, kOfSwap},
    {"attention_curve", is_roofline, kOfRoofline},
    {"attention_curve", is_paged, kOfPaged},
    {"host_work", has_host_work, "it applies to --time-model roofline and measured:GPU"},
};

// The first condition of `setting` that fails; null if all hold.
const Condition* failing_condition(std::string_view setting, const RunConfig& config) {
  const auto* const found = std::ranges::find_if(kConditions, [&](const Condition& condition) {
    return condition.setting == setting && !condition.has_effect(config);
  });
  return found == std::end(kConditions) ? nullptr : found;
}

}  // namespace

std::string used_flags(const RunConfig& config) {
  const RunConfig defaults;
  std::string flags;
  for (const RunField& field : run_fields()) {
    const std::string text = field_text(config, field);
    if (text == field_text(defaults, field) || failing_condition(field.name, config)) continue;
    flags += " " + flag_of(field) + " " + shell_word(text);
  }
  return flags;
}

bool draws_by_chance(const RunConfig& config) {
  return config.trace.empty() || config.beam_switch_probability > 0;
}

Status refuse_idle_seeds(std::span<const RunConfig> configs, std::int64_t seeds) {
  if (seeds <= 1 || std::ranges::any_of(configs, draws_by_chance)) return Status::ok();
  return Status::invalid_input(fmt::format(
      "--seeds: found {}; expected 1, as a trace draws nothing by chance and all runs would be "
      "equal, unless beams switch (--beam-switch-probability)",
      seeds));
}

Status refuse_unused(std::span<const RunConfig> configs) {
  const RunConfig defaults;
  for (const RunField& field : run_fields()) {
    const std::string unset = field_text(defaults, field);
    const Condition* failing = nullptr;
    std::string value;
    for (const RunConfig& config : configs) {
      const std::string text = field_text(config, field);
      if (text == unset) continue;
      const Condition* now = failing_condition(field.name, config);
      if (now == nullptr) {
        failing = nullptr;
        break;
      }
      if (failing == nullptr) value = text;
      failing = failing == nullptr ? now : failing;
    }
    if (failing != nullptr) {
      return Status::invalid_input(
          fmt::format("{} {}: has no effect here: {}", flag_of(field), value, failing->why));
    }
  }
  return Status::ok();
}

}  // namespace recto::experiments
