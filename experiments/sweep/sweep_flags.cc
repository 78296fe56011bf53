#include "experiments/sweep/sweep_flags.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <variant>

#include "experiments/support/offered_values.h"
#include "experiments/support/run_flags.h"
#include "experiments/support/text_values.h"

namespace recto::experiments {
namespace {

// Text fields whose values are names, without commas.
constexpr std::string_view kNames[] = {"workload", "decoding", "model", "gpu", "attention_curve"};

bool takes_commas(const RunField& field) {
  return !std::holds_alternative<TextMember>(field.member) ||
         std::ranges::find(kNames, field.name) != std::end(kNames);
}

}  // namespace

void SweepFlags::add_to(CLI::App& app) {
  app_ = &app;
  const RunConfig defaults;
  for (const RunField& field : run_fields()) {
    const std::string value = field_text(defaults, field);
    std::string help(field.help);
    if (!value.empty()) help += " [" + value + "]";
    Given& given = given_.emplace_back(Given{&field, nullptr, {}});
    CLI::Option* option = app.add_option(flag_of(field), given.values, help);
    given.option = option;
    // One value after each flag, so that following arguments are not swallowed.
    option->allow_extra_args(false);
    option->option_text(std::string(field.value_name) + (takes_commas(field) ? ",..." : ""));
    option->group(std::string(field.group));
    offer_values(*option, known_values(field));
  }
}

Status SweepFlags::apply(SweepGrid& grid) const {
  std::set<const CLI::Option*> seen;
  for (const CLI::Option* option : app_->parse_order()) {
    const auto given = std::ranges::find(given_, option, &Given::option);
    if (given == given_.end() || !seen.insert(option).second) continue;
    const RunField& field = *given->field;
    const Result<std::vector<std::string>> values =
        takes_commas(field) ? split_lists(given->values) : given->values;
    RECTO_RETURN_IF_ERROR(values.status().in(flag_of(field)));
    const Status status = values.value().size() == 1 ? grid.set_base(field, values.value().front())
                                                     : grid.add_axis({&field, values.value()});
    RECTO_RETURN_IF_ERROR(status.in(flag_of(field)));
  }
  return Status::ok();
}

}  // namespace recto::experiments
