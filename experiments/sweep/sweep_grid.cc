#include "experiments/sweep/sweep_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "core/contract.h"

namespace recto::experiments {

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
  // Compared as settings, however they are written: 1 and 1.0 are one point.
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

}  // namespace recto::experiments
