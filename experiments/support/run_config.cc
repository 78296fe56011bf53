#include "experiments/support/run_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

// The first need that is not met; null if the setting has an effect.
const RunNeed* missing_need(const RunField& field, const RunConfig& config) {
  for (const RunNeed* const need : field.needs) {
    if (need != nullptr && !need->is_met(config)) return need;
  }
  return nullptr;
}

// A setting that is not given is null.
template <typename Value>
Json json_of(const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return value.empty() ? Json() : Json(value);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return value;
  } else {
    return value ? Json(*value) : Json();
  }
}

}  // namespace

const RunField* find_run_field(std::string_view name) {
  std::string key(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  std::ranges::replace(key, '-', '_');
  const auto found = std::ranges::find(run_fields(), key, &RunField::name);
  return found == run_fields().end() ? nullptr : &*found;
}

std::string flag_of(const RunField& field) {
  std::string flag = "--" + std::string(field.name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string expected_value(const RunField& field) {
  return std::visit(
      []<typename Value, typename Values>(const RunMember<Value, Values>& m) -> std::string {
        if constexpr (!std::is_same_v<Value, std::string>)
          return range_text(m.values);
        else
          return m.values.empty() ? "a text" : fmt::format("{}", fmt::join(m.values, ", "));
      },
      field.member);
}

Status set_field(RunConfig& config, const RunField& field, std::string_view text) {
  return std::visit(
      [&]<typename Value, typename Values>(const RunMember<Value, Values>& m) -> Status {
        if constexpr (!std::is_same_v<Value, std::string>) {
          return store(parse_number(text, m.values), config.*m.member);
        } else {
          if (text.empty() && m.values.empty()) {
            return Status::invalid_input("found nothing; expected a text");
          }
          if (!m.values.empty() && std::ranges::find(m.values, text) == m.values.end()) {
            return found_other(text, "one of " + expected_value(field));
          }
          config.*m.member = text;
          return Status::ok();
        }
      },
      field.member);
}

std::string field_text(const RunConfig& config, const RunField& field) {
  const auto text_of = [&](const auto& m) {
    const auto& value = config.*m.member;
    if constexpr (requires { value.has_value(); }) {
      return value ? fmt::format("{}", *value) : std::string();
    } else {
      return fmt::format("{}", value);
    }
  };
  return std::visit(text_of, field.member);
}

Json to_json(const RunConfig& config) {
  Json json = Json::object();
  for (const RunField& field : run_fields()) {
    json[std::string(field.name)] =
        std::visit([&](const auto& m) { return json_of(config.*m.member); }, field.member);
  }
  return json;
}

Result<const RunField*> field_of_key(std::string_view key) {
  const RunField* const field = find_run_field(key);
  if (field != nullptr && field->name == key) return field;
  return Status::invalid_input(fmt::format(
      "'{}' is not a setting; expected {}", key,
      field != nullptr ? fmt::format("'{}'", field->name)
                       : "a flag of recto simulate that sets a run, such as 'block_size'"));
}

Result<RunConfig> run_config_from_json(const Json& json) {
  if (!json.is_object()) {
    return Status::invalid_input(
        fmt::format("found {}; expected an object of settings", json.type_name()));
  }
  RunConfig config;
  for (const auto& [key, value] : json.items()) {
    const Result<const RunField*> field = field_of_key(key);
    RECTO_RETURN_IF_ERROR(field.status());
    if (value.is_null()) continue;
    const bool is_text = std::holds_alternative<TextMember>(field.value()->member);
    if (is_text ? !value.is_string() : !value.is_number()) {
      return Status::invalid_input(fmt::format("{}: found {}; expected {}", key, json_text(value),
                                               expected_value(*field.value())));
    }
    const std::string text = is_text ? value.get<std::string>() : json_text(value);
    RECTO_RETURN_IF_ERROR(set_field(config, *field.value(), text).in(key));
  }
  return config;
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

bool is_contiguous(const RunConfig& config) { return config.allocator.starts_with("contiguous"); }

std::string label_of(const RunConfig& config) {
  if (is_contiguous(config)) return config.allocator;
  return fmt::format("{} {}", config.allocator, config.block_size);
}

bool draws_by_chance(const RunConfig& config) {
  return config.trace.empty() || config.beam_switch_probability > 0;
}

std::string used_flags(const RunConfig& config) {
  std::string flags;
  for (const RunField& field : run_fields()) {
    const std::string text = field_text(config, field);
    if (text == field_text(RunConfig(), field) || missing_need(field, config)) continue;
    flags += " " + flag_of(field) + " " + shell_word(text);
  }
  return flags;
}

Status refuse_unused(std::span<const RunConfig> configs) {
  for (const RunField& field : run_fields()) {
    const std::string unset = field_text(RunConfig(), field);
    const auto is_given = [&](const RunConfig& config) {
      return field_text(config, field) != unset;
    };
    const auto has_effect = [&](const RunConfig& config) {
      return is_given(config) && missing_need(field, config) == nullptr;
    };
    const auto given = std::ranges::find_if(configs, is_given);
    if (given == configs.end() || std::ranges::any_of(configs, has_effect)) continue;
    return Status::invalid_input(fmt::format("{} {}: has no effect here: {}", flag_of(field),
                                             field_text(*given, field),
                                             missing_need(field, *given)->text));
  }
  return Status::ok();
}

Status refuse_idle_seeds(std::span<const RunConfig> configs, std::int64_t seeds) {
  if (seeds <= 1 || std::ranges::any_of(configs, draws_by_chance)) return Status::ok();
  return Status::invalid_input(
      fmt::format("--seeds: found {}; expected 1, as a trace has no random choices and all runs "
                  "would be equal, unless beams switch (--beam-switch-probability)",
                  seeds));
}

}  // namespace recto::experiments
