#include "experiments/sweep/sweep_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/contract.h"
#include "core/json.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/support/run_config.h"

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

// Numbers and names have no commas.
bool takes_commas(const RunField& field) {
  return !std::holds_alternative<TextMember>(field.member) || !known_values(field).empty() ||
         field.name == "decoding";
}

}  // namespace

bool SweepGrid::is_axis(const RunField& field) const {
  return std::ranges::find(axes_, &field, &SweepAxis::field) != axes_.end();
}

Status SweepGrid::check_runs(std::int64_t points, std::int64_t seeds) const {
  if (points <= kSweepRunsMax / seeds) return Status::ok();
  return Status::invalid_input(
      fmt::format("the grid has more than {} runs; expected fewer values or seeds", kSweepRunsMax));
}

Status SweepGrid::set_base(const RunField& field, const std::string& value) {
  if (is_axis(field))
    return Status::invalid_input("is an axis of the grid already; expected it once");
  return set_field(base_, field, value);
}

Status SweepGrid::add_axis(SweepAxis axis) {
  const RunField& field = *axis.field;
  if (is_axis(field))
    return Status::invalid_input("is an axis of the grid already; expected it once");
  if (axis.values.empty()) {
    return Status::invalid_input("has no values; expected " + expected_value(field));
  }
  if (field.name == "seed" && seed_count_ > 1) {
    return Status::invalid_input("cannot be an axis beside --seeds; expected one of the two");
  }
  // Compared as settings, not as text: 1 and 1.0 are one point.
  std::set<std::string> seen;
  for (std::string& value : axis.values) {
    RunConfig config;
    RECTO_RETURN_IF_ERROR(set_field(config, field, value));
    value = field_text(config, field);
    if (!seen.insert(value).second) {
      return Status::invalid_input(
          fmt::format("found '{}' twice; expected each value once", value));
    }
  }
  RECTO_RETURN_IF_ERROR(check_runs(point_count() * static_cast<std::int64_t>(std::min<std::size_t>(
                                                       axis.values.size(), kSweepRunsMax)),
                                   seed_count_));
  axes_.push_back(std::move(axis));
  return Status::ok();
}

Status SweepGrid::set_seed_count(std::int64_t count) {
  if (count < 1 || count > kSweepRunsMax) {
    return Status::invalid_input(
        fmt::format("found {}; expected an integer from 1 to {}", count, kSweepRunsMax));
  }
  if (count > 1 && is_axis(*find_run_field("seed"))) {
    return Status::invalid_input("expected 1 where the seed is an axis");
  }
  if (base_.seed > std::numeric_limits<std::int64_t>::max() - count) {
    return Status::invalid_input(
        fmt::format("found {}, which leads beyond the largest seed from --seed {} on; expected "
                    "fewer, or a smaller --seed",
                    count, base_.seed));
  }
  RECTO_RETURN_IF_ERROR(check_runs(point_count(), count));
  seed_count_ = count;
  return Status::ok();
}

std::int64_t SweepGrid::point_count() const {
  std::int64_t count = 1;
  for (const SweepAxis& axis : axes_) count *= static_cast<std::int64_t>(axis.values.size());
  return count;
}

std::vector<std::string> SweepGrid::point_values(std::int64_t point) const {
  RECTO_CHECK_GE(point, 0);
  RECTO_CHECK_LT(point, point_count());
  std::vector<std::string> values(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    const auto size = static_cast<std::int64_t>(axes_[i].values.size());
    values[i] = axes_[i].values[static_cast<std::size_t>(point % size)];
    point /= size;
  }
  return values;
}

RunConfig SweepGrid::run_config(std::int64_t run) const {
  const std::vector<std::string> values = point_values(run / seed_count_);
  RunConfig config = base_;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    RECTO_CHECK_EQ(set_field(config, *axes_[i].field, values[i]), Status::ok());
  }
  config.seed += run % seed_count_;
  return config;
}

Json to_json(const SweepGrid& grid) {
  Json axes = Json::object();
  for (const SweepAxis& axis : grid.axes()) axes[std::string(axis.field->name)] = axis.values;
  return {{"base", to_json(grid.base())}, {"axes", axes}, {"seeds", grid.seed_count()}};
}

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
