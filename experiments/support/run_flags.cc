#include "experiments/support/run_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/contract.h"
#include "core/status.h"
#include "experiments/support/run_fields.h"

namespace recto::experiments {

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
      return set_field(tried, field, text).message();  // empty if it is good
    });
    option->option_text(std::string(field.value_name));
    option->group(std::string(field.group));
  }
}

}  // namespace recto::experiments
