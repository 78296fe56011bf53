#pragma once

// Flags of a sweep: every setting of a run, each taking one value or several.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"
#include "experiments/support/run_config.h"
#include "experiments/sweep/sweep_grid.h"

namespace recto::experiments {

class SweepFlags {
 public:
  // Values of names and numbers may be separated by commas; free texts, which may hold commas
  // themselves, are given by repeating the flag. This object must outlive the command.
  void add_to(Command& command);

  // One value goes into the base, several make an axis; axes are in the order of the flags that the
  // command line gives.
  Status apply(std::span<const std::string> given, SweepGrid& grid) const;

 private:
  std::map<const RunField*, std::vector<std::string>> values_;
};

}  // namespace recto::experiments
