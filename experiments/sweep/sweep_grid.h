#pragma once

// The points of a sweep: every combination of the values of its axes, each on top of one base.

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct SweepAxis {
  const RunField* field = nullptr;
  std::vector<std::string> values;  // as `set_field` takes them
};

class SweepGrid {
 public:
  // All of these leave the grid unchanged and return invalid input for what would make no sense: a
  // value that the field does not take, a field that is an axis already, an axis without values or
  // with two equal ones, more runs than kSweepRunsMax.
  Status set_base(const RunField& field, const std::string& value);
  Status add_axis(SweepAxis axis);
  // Runs each point under `count` seeds, starting with the base's.
  Status set_seed_count(std::int64_t count);

  const RunConfig& base() const { return base_; }
  const std::vector<SweepAxis>& axes() const { return axes_; }
  std::int64_t seed_count() const { return seed_count_; }
  std::int64_t point_count() const;
  std::int64_t run_count() const { return point_count() * seed_count_; }

  // One per axis; the last axis varies fastest.
  std::vector<std::string> point_values(std::int64_t point) const;

  // Runs are numbered point by point: run r has point r / seed_count().
  RunConfig run_config(std::int64_t run) const;

 private:
  bool is_axis(const RunField& field) const;
  Status check_runs(std::int64_t points, std::int64_t seeds) const;

  RunConfig base_;
  std::vector<SweepAxis> axes_;
  std::int64_t seed_count_ = 1;
};

inline constexpr std::int64_t kSweepRunsMax = 1'000'000;

// How a manifest and a journal identify the grid: {"base": ..., "axes": ..., "seeds": ...}.
Json to_json(const SweepGrid& grid);

}  // namespace recto::experiments
