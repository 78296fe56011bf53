#pragma once

// What became of a run, and how that is written down: in the journal, and between the process that
// runs a part of a sweep and the one that collects it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/support/run_config.h"

namespace recto::experiments {

// A value per column (NaN: none), or why there are none.
struct RunRecord {
  std::vector<double> values;
  std::string error;

  bool is_ok() const { return error.empty(); }
};

struct NumberedRecord {
  std::int64_t run = 0;
  std::string config;  // hash of the run's configuration
  RunRecord record;
};

// One line with its end. Values come back from it to the last bit; "check" is a hash of the rest.
std::string record_line(const NumberedRecord& numbered);

// The reverse; nothing where `json` is no record, not as it was written, or has not `value_count`
// values.
std::optional<NumberedRecord> record_from(const Json& json, std::size_t value_count);

// Compact, on one line with its end; what is no UTF-8 is replaced.
std::string json_line(const Json& json);

// "/grid/axes/block_size/1 was 16, is 32": the first places in which two documents differ.
std::string differences(const Json& before, const Json& now);

}  // namespace recto::experiments
