#pragma once

// What a sweep has finished so far, on disk: one JSON line per run behind a line that says which
// sweep it is. A process may be killed at any instant; at most the line being written is lost.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// What became of one run: a value per column (NaN: none), or why there are none.
struct RunRecord {
  std::vector<double> values;
  std::string error;

  bool is_ok() const { return error.empty(); }
};

enum class JournalStart : std::uint8_t {
  kContinue,
  kFresh,  // what was there is dropped
};

class SweepJournal {
 public:
  // `identity` is an object: what must agree for finished runs to be worth anything; its "columns"
  // name the values of a run. A last line that is torn is dropped. Invalid input, naming what
  // differs, for the journal of another sweep, a damaged line before the last, and while another
  // process has the file open.
  static Result<SweepJournal> open(const std::string& path, const Json& identity,
                                   JournalStart start);

  SweepJournal(SweepJournal&& other) noexcept;
  SweepJournal& operator=(SweepJournal&&) = delete;
  ~SweepJournal();

  // Finished before, by number; runs that failed are to be tried again and not among them.
  const std::map<std::int64_t, RunRecord>& finished() const { return finished_; }

  // On disk when this returns. `hash` is that of the run's configuration.
  Status append(std::int64_t run, const std::string& hash, const RunRecord& record);

  // True if a run with this number and configuration was finished before.
  bool has(std::int64_t run, const std::string& hash) const;

 private:
  SweepJournal(std::string path, int file) : path_(std::move(path)), file_(file) {}

  Status lock() const;
  Status load(const Json& identity);
  // Reads one line; false if it is torn or damaged.
  bool take_record(const std::string& line);
  Status write_line(const Json& line) const;
  Status failure(const std::string& what) const;

  std::string path_;
  int file_;
  std::size_t value_count_ = 0;
  std::map<std::int64_t, RunRecord> finished_;
  std::map<std::int64_t, std::string> hashes_;
};

}  // namespace recto::experiments
