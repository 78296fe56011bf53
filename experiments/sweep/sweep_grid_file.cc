#include "experiments/sweep/sweep_grid_file.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/json.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

Result<Json> parse_grid_json(std::string_view text) {
  JsonReading reading = read_json(text);
  if (reading.fault != JsonReading::Fault::kNone) {
    return Status::invalid_input(fmt::format(
        "line {}: not valid JSON; expected an object with base, axes and seeds", reading.line));
  }
  if (!reading.repeated.empty()) {
    return Status::invalid_input(fmt::format("'{}': given twice in one object; expected once",
                                             reading.repeated.front().key));
  }
  return std::move(reading.json);
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
    const Result<const RunField*> field = field_of_key(name);
    RECTO_RETURN_IF_ERROR(field.status());
    Result<std::vector<std::string>> texts = read_axis_values(values);
    RECTO_RETURN_IF_ERROR(texts.status().in(name));
    RECTO_RETURN_IF_ERROR(grid.add_axis({field.value(), std::move(texts).value()}).in(name));
  }
  return Status::ok();
}

}  // namespace

Result<SweepGrid> parse_sweep_grid(std::string_view text) {
  const Result<Json> parsed = parse_grid_json(text);
  RECTO_RETURN_IF_ERROR(parsed.status());
  const Json& json = parsed.value();
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
