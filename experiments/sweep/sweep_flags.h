#pragma once

// Flags of a sweep: every setting of a run, each taking one value or several.

#include <CLI/CLI.hpp>
#include <deque>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_fields.h"
#include "experiments/sweep/sweep_grid.h"

namespace recto::experiments {

class SweepFlags {
 public:
  // Adds them to `app`, once. Values of names and numbers may be separated by commas; free texts,
  // which may hold commas themselves, are given by repeating the flag. This object must outlive
  // the parsing.
  void add_to(CLI::App& app);

  // One value goes into the base, several make an axis; axes are in the order of the command line.
  // To be called after the command line has been parsed.
  Status apply(SweepGrid& grid) const;

 private:
  struct Given {
    const RunField* field = nullptr;
    const CLI::Option* option = nullptr;
    std::vector<std::string> values;
  };

  const CLI::App* app_ = nullptr;
  std::deque<Given> given_;  // CLI11 keeps pointers to the values
};

}  // namespace recto::experiments
