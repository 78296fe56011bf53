#pragma once

// The outcome of a run, and how it is written: in the journal, and between the process that runs a
// part of a sweep and the one that collects it.

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

// One line, with its newline. Values can be read back to the last bit; "check" is a hash of the
// rest.
std::string record_line(const NumberedRecord& numbered);

// The reverse; nullopt if `json` is not a record, is not as it was written, or does not have
// `value_count` values.
std::optional<NumberedRecord> record_from(const Json& json, std::size_t value_count);

// Compact JSON on one line, with its newline; invalid UTF-8 is replaced.
std::string json_line(const Json& json);

// "/grid/axes/block_size/1 was 16, is 32": the first places in which two documents differ.
std::string differences(const Json& before, const Json& now);

}  // namespace recto::experiments
