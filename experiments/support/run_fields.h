#pragma once

// The fields of RunConfig by name: one table from which flags, JSON and sweep axes follow. Adding a
// setting takes a member of RunConfig, a line in this table, and its meaning in resolved_run.cc.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/status.h"
#include "experiments/support/run_config.h"
#include "experiments/support/text_values.h"

namespace recto::experiments {

struct TextMember {
  std::string RunConfig::*member;
};
struct ChoiceMember {
  std::string RunConfig::*member;
  std::span<const std::string_view> choices;
};
struct CountMember {
  std::int64_t RunConfig::*member;
  CountRange range;
};
struct OptionalCountMember {
  std::optional<std::int64_t> RunConfig::*member;
  CountRange range;
};
struct NumberMember {
  double RunConfig::*member;
  NumberRange range;
};
struct OptionalNumberMember {
  std::optional<double> RunConfig::*member;
  NumberRange range;
};

struct RunField {
  std::string_view name;   // JSON key; the flag is --name with hyphens
  std::string_view group;  // of the help
  std::string_view value_name;
  std::string_view help;  // one line; the default is added where there is one
  std::variant<TextMember, ChoiceMember, CountMember, OptionalCountMember, NumberMember,
               OptionalNumberMember>
      member;
};

// In the order of the help.
std::span<const RunField> run_fields();

// By its JSON key or its flag, with or without hyphens in front; nullptr if there is none.
const RunField* find_run_field(std::string_view name);

// Invalid input: what a JSON key that is none should have been.
Status no_such_setting(std::string_view key);

// "--block-size"
std::string flag_of(const RunField& field);

// Parses and stores one value. The message says what was found and expected, not where: add the
// flag or the key with Status::in.
Status set_field(RunConfig& config, const RunField& field, std::string_view text);

// The value as `set_field` takes it; empty where there is none.
std::string field_text(const RunConfig& config, const RunField& field);

// "an integer from 1 to 1048576", "paged or prefix-cached", ...
std::string expected_value(const RunField& field);

}  // namespace recto::experiments
