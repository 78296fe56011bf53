#include "experiments/sweep/sweep_grid_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/json_nesting.h"
#include "core/json_output.h"
#include "experiments/support/text_file.h"

namespace recto::experiments {
namespace {

// Parses a text as JSON and keeps the position of a syntax error. (The parser that builds a
// document reports it only by an exception.)
class SyntaxCheck final : public Json::json_sax_t {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second && !repeated_) repeated_ = name;
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error_position_ = position;
    return false;
  }

  std::optional<std::size_t> error_position() const { return error_position_; }
  const std::optional<std::string>& repeated_key() const { return repeated_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::optional<std::string> repeated_;
  std::optional<std::size_t> error_position_;
};

Status check_syntax(std::string_view text) {
  SyntaxCheck check;
  if (!Json::sax_parse(text, &check)) {
    const std::size_t end = std::min(check.error_position().value_or(0), text.size());
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    return Status::invalid_input(
        fmt::format("line {}: not valid JSON; expected an object with base, axes and seeds", line));
  }
  if (check.repeated_key()) {
    return Status::invalid_input(
        fmt::format("'{}': given twice in one object; expected once", *check.repeated_key()));
  }
  return Status::ok();
}

Result<std::vector<std::string>> read_axis_values(const Json& values) {
  if (!values.is_array()) {
    return Status::invalid_input(
        fmt::format("found {}; expected a list of values", json_text(values)));
  }
  std::vector<std::string> texts;
  for (const Json& value : values) {
    if (!value.is_string() && !value.is_number()) {
      return Status::invalid_input(
          fmt::format("found {}; expected numbers or texts", json_text(value)));
    }
    texts.push_back(value.is_string() ? value.get<std::string>() : json_text(value));
  }
  return texts;
}

Status read_base(const Json& base, SweepGrid& grid) {
  const Result<RunConfig> config = run_config_from_json(base);
  RECTO_RETURN_IF_ERROR(config.status());
  for (const RunField& field : run_fields()) {
    const std::string text = field_text(config.value(), field);
    if (!text.empty()) RECTO_RETURN_IF_ERROR(grid.set_base(field, text));
  }
  return Status::ok();
}

Status read_axes(const Json& axes, SweepGrid& grid) {
  if (!axes.is_object()) {
    return Status::invalid_input(
        fmt::format("found {}; expected an object of lists", json_text(axes)));
  }
  for (const auto& [name, values] : axes.items()) {
    const RunField* field = find_run_field(name);
    if (field == nullptr || field->name != name) {
      return no_such_setting(name);
    }
    Result<std::vector<std::string>> texts = read_axis_values(values);
    RECTO_RETURN_IF_ERROR(texts.status().in(name));
    RECTO_RETURN_IF_ERROR(grid.add_axis({field, std::move(texts).value()}).in(name));
  }
  return Status::ok();
}

}  // namespace

Result<SweepGrid> parse_sweep_grid(std::string_view text) {
  RECTO_RETURN_IF_ERROR(check_syntax(text));
  const Json json = Json::parse(text, within_nesting_max, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Status::invalid_input(
        fmt::format("found {}; expected an object with base, axes and seeds", json.type_name()));
  }
  SweepGrid grid;
  for (const auto& [key, value] : json.items()) {
    if (key != "base" && key != "axes" && key != "seeds") {
      return Status::invalid_input(
          fmt::format("'{}': unknown field; expected base, axes or seeds", key));
    }
  }
  if (json.contains("base")) RECTO_RETURN_IF_ERROR(read_base(json["base"], grid).in("base"));
  if (json.contains("axes")) RECTO_RETURN_IF_ERROR(read_axes(json["axes"], grid).in("axes"));
  if (json.contains("seeds")) {
    const Json& seeds = json["seeds"];
    if (!seeds.is_number_integer()) {
      return Status::invalid_input(
          fmt::format("seeds: found {}; expected an integer of at least 1", json_text(seeds)));
    }
    RECTO_RETURN_IF_ERROR(grid.set_seed_count(seeds.get<std::int64_t>()).in("seeds"));
  }
  return grid;
}

Result<SweepGrid> load_sweep_grid(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  Result<SweepGrid> grid = parse_sweep_grid(text.value());
  RECTO_RETURN_IF_ERROR(grid.status().in(path));
  return grid;
}

}  // namespace recto::experiments
