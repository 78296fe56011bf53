#pragma once

// The finished runs of a sweep, on disk: one JSON line per run, after a line that identifies the
// sweep. A process may be killed at any instant; at most the line being written is lost. A process
// that runs a part of a sweep sends the same lines to the process that collects them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// A value per column (NaN: none), or the error of the run.
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

// One line, with its newline. Values are exact to the last bit; "check" is a hash of the rest.
std::string record_line(const NumberedRecord& numbered);

// The reverse; nullopt if `json` is not a record, was changed, or does not have `value_count`
// values.
std::optional<NumberedRecord> record_from(const Json& json, std::size_t value_count);

// Compact JSON on one line, with its newline; invalid UTF-8 is replaced.
std::string json_line(const Json& json);

// "/grid/axes/block_size/1 was 16, is 32": the first places in which two documents differ.
std::string differences(const Json& before, const Json& now);

// Hash of the configuration of a run; nullopt if the sweep has no run of this number.
using ConfigHashOf = std::function<std::optional<std::string>(std::int64_t run)>;

enum class JournalStart : std::uint8_t {
  kContinue,
  kFresh,  // drops an existing journal
};

class SweepJournal {
 public:
  // Finished runs are valid only if the journal's identity equals `identity`; its "columns" name
  // the values of a run. Drops a torn last line. Invalid input for the journal of another sweep,
  // naming the difference; for a run of other settings and for damage before the last line, naming
  // the line; and while another process has the file open.
  static Result<SweepJournal> open(const std::string& path, const Json& identity,
                                   const ConfigHashOf& config_hash_of, JournalStart start);

  SweepJournal(SweepJournal&& other) noexcept;
  SweepJournal& operator=(SweepJournal&&) = delete;
  ~SweepJournal();

  // The runs finished before, by number, without failed runs, which are to be tried again.
  const std::map<std::int64_t, RunRecord>& finished() const { return finished_; }

  // The size of a torn last line, whose writer was killed.
  std::size_t dropped_bytes() const { return dropped_bytes_; }

  // The records are on disk when this returns; waits for the disk once for all of them.
  Status append(const std::vector<NumberedRecord>& records) const;

  bool has(std::int64_t run) const { return finished_.contains(run); }

 private:
  SweepJournal(std::string path, int file) : path_(std::move(path)), file_(file) {}

  Status lock() const;
  Status load(const Json& identity, const ConfigHashOf& config_hash_of);
  // Invalid input if the first line identifies another sweep; false if it is torn.
  Result<bool> check_identity(const std::string& line, const Json& identity) const;
  // Reads one line; false if it is torn or damaged.
  Result<bool> take_record(const std::string& line, const ConfigHashOf& config_hash_of);
  Status write_lines(const std::string& text) const;
  Status failure(const std::string& what) const;

  std::string path_;
  int file_;
  std::size_t value_count_ = 0;
  std::size_t dropped_bytes_ = 0;
  std::map<std::int64_t, RunRecord> finished_;
};

}  // namespace recto::experiments
