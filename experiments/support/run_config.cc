#include "experiments/support/run_config.h"

#include <fmt/format.h>

#include <string>
#include <variant>

#include "core/json.h"
#include "experiments/support/run_fields.h"

namespace recto::experiments {
namespace {

// Numbers stay numbers.
Json value_of(const RunConfig& config, const RunField& field) {
  return std::visit(
      [&](const auto& m) -> Json {
        const auto& value = config.*m.member;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>) {
          return value.empty() ? Json() : Json(value);
        } else if constexpr (requires { value.has_value(); }) {
          return value ? Json(*value) : Json();
        } else {
          return Json(value);
        }
      },
      field.member);
}

bool is_text(const RunField& field) {
  return std::holds_alternative<TextMember>(field.member) ||
         std::holds_alternative<ChoiceMember>(field.member);
}

}  // namespace

Json to_json(const RunConfig& config) {
  Json json = Json::object();
  for (const RunField& field : run_fields()) {
    json[std::string(field.name)] = value_of(config, field);
  }
  return json;
}

Result<RunConfig> run_config_from_json(const Json& json) {
  if (!json.is_object()) {
    return Status::invalid_input(
        fmt::format("found {}; expected an object of settings", json.type_name()));
  }
  RunConfig config;
  for (const auto& [key, value] : json.items()) {
    const RunField* field = find_run_field(key);
    if (field == nullptr || field->name != key) {
      return no_such_setting(key);
    }
    if (value.is_null()) continue;
    if (is_text(*field) != value.is_string() || (!value.is_string() && !value.is_number())) {
      return Status::invalid_input(
          fmt::format("{}: found {}; expected {}", key, json_text(value), expected_value(*field)));
    }
    const std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
    RECTO_RETURN_IF_ERROR(set_field(config, *field, text).in(key));
  }
  return config;
}

}  // namespace recto::experiments
