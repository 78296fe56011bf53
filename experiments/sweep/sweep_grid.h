#pragma once

// The points of a sweep: every combination of the values of its axes, applied to one base; given by
// flags, or as a JSON file:
//
//   {"base": {"trace": "azure.csv", "pool_gib": 12},
//    "axes": {"allocator": ["paged", "contiguous-max"], "block_size": [8, 16, 32]},
//    "seeds": 5}
//
// Names are those of support/run_config.h. Any of the three may be missing.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct SweepAxis {
  const RunField* field = nullptr;
  std::vector<std::string> values;  // as `set_field` takes them
};

class SweepGrid {
 public:
  // All setters leave the grid unchanged and return invalid input for: a value that the field does
  // not take, a field that is already an axis, an axis without values or with two equal ones, more
  // runs than kSweepRunsMax.
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

// Identifies the grid in manifests and journals: {"base": ..., "axes": ..., "seeds": ...}.
Json to_json(const SweepGrid& grid);

// Invalid input names the file and the line that is not JSON, or the field.
Result<SweepGrid> load_sweep_grid(const std::string& path);

Result<SweepGrid> parse_sweep_grid(std::string_view text);

// Flags of a sweep: every setting of a run, each with one value or several.
class SweepFlags {
 public:
  // Commas separate names and numbers; for free texts, which may contain commas, the flag is
  // repeated. This object must outlive the command.
  void add_to(Command& command);

  // One value goes into the base, several make an axis; axes are in the order of the flags on the
  // command line.
  Status apply(std::span<const std::string> given, SweepGrid& grid) const;

 private:
  std::map<const RunField*, std::vector<std::string>> values_;
};

}  // namespace recto::experiments
