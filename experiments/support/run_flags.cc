#include "experiments/support/run_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>

#include "core/contract.h"
#include "core/gpu_table.h"
#include "core/model_table.h"
#include "core/status.h"
#include "experiments/support/offered_values.h"
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

void add_run_flags(CLI::App& app, RunConfig& config, std::span<const std::string_view> except) {
  for (const RunField& field : run_fields()) {
    if (std::ranges::find(except, field.name) != except.end()) continue;
    const std::string value = field_text(config, field);
    std::string help(field.help);
    if (!value.empty()) help += fmt::format(" [{}]", value);
    CLI::Option* option = app.add_option_function<std::string>(
        flag_of(field),
        [&config, &field](const std::string& text) {
          RECTO_CHECK_EQ(set_field(config, field, text), Status::ok());
        },
        help);
    option->check([&field](const std::string& text) {
      RunConfig tried;
      return set_field(tried, field, text).message();  // empty if it is valid
    });
    offer_values(*option, known_values(field));
    option->option_text(std::string(field.value_name));
    option->group(std::string(field.group));
  }
}

}  // namespace recto::experiments
