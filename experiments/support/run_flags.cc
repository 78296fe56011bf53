#include "experiments/support/run_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "core/gpu_table.h"
#include "core/model_table.h"
#include "core/status.h"
#include "experiments/support/run_fields.h"
#include "sim/time/attention_efficiency.h"
#include "sim/workloads/builtin_workloads.h"

namespace recto::experiments {
namespace {

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

}  // namespace

std::vector<std::string> known_values(const RunField& field) {
  if (const auto* choice = std::get_if<ChoiceMember>(&field.member)) {
    return {choice->choices.begin(), choice->choices.end()};
  }
  if (field.name == "model") return names_of(model_table());
  if (field.name == "gpu") return names_of(gpu_table());
  if (field.name == "workload") return names_of(sim::builtin_workloads());
  if (field.name == "attention_curve") return names_of(sim::attention_curves());
  return {};
}

Option& add_run_flag(Command& command, const RunField& field, const RunConfig& defaults,
                     OptionValue value) {
  const std::string shown = field_text(defaults, field);
  std::string help(field.help);
  if (!shown.empty()) help += fmt::format(" [{}]", shown);
  value.known = known_values(field);
  return OptionGroup{command, std::string(field.group)}.add(
      fmt::format("{} {}", flag_of(field), field.value_name), std::move(value), help);
}

void add_run_flags(Command& command, RunConfig& config, std::span<const std::string_view> except) {
  for (const RunField& field : run_fields()) {
    if (std::ranges::find(except, field.name) != except.end()) continue;
    add_run_flag(command, field, config, {.take = [&config, &field](const std::string& text) {
                   return set_field(config, field, text);
                 }});
  }
}

}  // namespace recto::experiments
