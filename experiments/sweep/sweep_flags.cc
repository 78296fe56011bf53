#include "experiments/sweep/sweep_flags.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <variant>

#include "experiments/support/numbers.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

// Numbers and names have no commas.
bool takes_commas(const RunField& field) {
  return !std::holds_alternative<TextMember>(field.member) || !known_values(field).empty() ||
         field.name == "decoding";
}

}  // namespace

void SweepFlags::add_to(Command& command) {
  const RunConfig defaults;
  for (const RunField& field : run_fields()) {
    Option& option = add_run_flag(command, field, defaults, any_text(values_[&field]));
    if (takes_commas(field)) option.value_name += ",...";
  }
}

Status SweepFlags::apply(std::span<const std::string> given, SweepGrid& grid) const {
  std::set<const RunField*> seen;
  for (const std::string& flag : given) {
    const RunField* const field = find_run_field(flag);
    if (field == nullptr || !seen.insert(field).second) continue;
    const std::vector<std::string>& texts = values_.at(field);
    const Result<std::vector<std::string>> values =
        takes_commas(*field) ? split_lists(texts) : texts;
    RECTO_RETURN_IF_ERROR(values.status().in(flag));
    const Status status = values.value().size() == 1 ? grid.set_base(*field, values.value().front())
                                                     : grid.add_axis({field, values.value()});
    RECTO_RETURN_IF_ERROR(status.in(flag));
  }
  return Status::ok();
}

}  // namespace recto::experiments
