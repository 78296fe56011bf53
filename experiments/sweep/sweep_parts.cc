#include "experiments/sweep/sweep_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/parallel.h"
#include "experiments/sweep/sweep_columns.h"

namespace recto::experiments {
namespace {

// Converts lines to records.
class RecordIntake {
 public:
  RecordIntake(const SweepGrid& grid, const Json& manifest, const SweepJournal& journal)
      : grid_(grid),
        manifest_(manifest),
        records_(static_cast<std::size_t>(grid.run_count())),
        is_known_(records_.size(), false),
        missing_(grid.run_count()) {
    for (const auto& [run, record] : journal.finished()) keep(run, record);
  }

  // Adds new records to `taken`.
  Status take_line(std::string_view line, std::vector<NumberedRecord>& taken) {
    ++line_number_;
    const Json json = read_json(line).json;
    const std::string place = fmt::format("standard input:{}", line_number_);
    if (json.is_object() && json.contains("recto")) {
      part_ = json;
      return check_part_of(manifest_, json).in(place);
    }
    std::optional<NumberedRecord> record = lost_run(json);
    const bool is_of_part = !record && part_;
    if (is_of_part) record = record_from(json, manifest_["columns"].size());
    if (!record || record->run < 0 || record->run >= grid_.run_count() ||
        record->config != config_hash(grid_.run_config(record->run))) {
      return Status::invalid_input(place +
                                   ": expected what recto sweep --runs prints of this grid");
    }
    if (is_of_part) {
      RECTO_RETURN_IF_ERROR(check_reads(*part_, grid_.run_config(record->run)).in(place));
    }
    if (is_known_[static_cast<std::size_t>(record->run)]) return Status::ok();
    keep(record->run, record->record);
    taken.push_back(std::move(*record));
    return Status::ok();
  }

  std::int64_t missing() const { return missing_; }
  std::vector<RunRecord> records() && { return std::move(records_); }

 private:
  // {"run": 17, "error": "..."}
  std::optional<NumberedRecord> lost_run(const Json& json) const {
    if (!json.is_object() || json.size() != 2 || !json.contains("run") ||
        !json["run"].is_number_integer() || !json.contains("error") || !json["error"].is_string()) {
      return std::nullopt;
    }
    const auto run = json["run"].get<std::int64_t>();
    if (run < 0 || run >= grid_.run_count()) return std::nullopt;
    return NumberedRecord{
        run, config_hash(grid_.run_config(run)), {{}, json["error"].get<std::string>()}};
  }

  void keep(std::int64_t run, const RunRecord& record) {
    records_[static_cast<std::size_t>(run)] = record;
    is_known_[static_cast<std::size_t>(run)] = true;
    --missing_;
  }

  const SweepGrid& grid_;
  const Json& manifest_;
  std::vector<RunRecord> records_;
  std::vector<bool> is_known_;
  std::int64_t missing_;
  std::int64_t line_number_ = 0;
  std::optional<Json> part_;  // the part of the next records
};

// Appends available input to `text`; false at the end of the input.
Result<bool> read_more(int file, std::string& text) {
  std::array<char, 1 << 16> chunk;
  ssize_t size = 0;
  do {
    size = read(file, chunk.data(), chunk.size());
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    return Status::failed(fmt::format("standard input: {}", std::strerror(errno)));
  }
  text.append(chunk.data(), static_cast<std::size_t>(size));
  return size > 0;
}

}  // namespace

Result<std::vector<RunSpan>> parse_run_spans(std::string_view text, std::int64_t run_count) {
  std::vector<RunSpan> spans;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t hyphen = part.find('-');
    const auto first = number_in<std::int64_t>(part.substr(0, hyphen));
    const auto last =
        hyphen == std::string_view::npos ? first : number_in<std::int64_t>(part.substr(hyphen + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= run_count) {
      return Status::invalid_input(
          fmt::format("found '{}'; expected numbers of runs from 0 to {}, such as 0-9,12", text,
                      run_count - 1));
    }
    spans.push_back({*first, *last});
    if (comma == std::string_view::npos) return spans;
    rest.remove_prefix(comma + 1);
  }
}

Status print_runs(const SweepGrid& grid, const std::vector<RunSpan>& spans, std::ostream& out) {
  const Result<Json> part = describe_part(grid, spans);
  RECTO_RETURN_IF_ERROR(part.status());
  out << json_line(part.value()) << std::flush;
  for (const RunSpan& span : spans) {
    for (std::int64_t run = span.first; run <= span.last; ++run) {
      const RunConfig config = grid.run_config(run);
      out << record_line({run, config_hash(config), record_run(config)}) << std::flush;
      if (!out) return Status::failed("standard output: cannot be written");
    }
  }
  return Status::ok();
}

std::string plan_line(const SweepGrid& grid, const Json& manifest,
                      const std::vector<std::int64_t>& left) {
  Json spans = Json::array();
  for (std::size_t i = 0; i < left.size();) {
    const std::size_t first = i;
    while (++i < left.size() && left[i] == left[i - 1] + 1) {
    }
    spans.push_back({left[first], left[i - 1]});
  }
  return json_line({{"grid", manifest["grid"]},
                    {"inputs", manifest["inputs"]},
                    {"runs", grid.run_count()},
                    {"left", spans}});
}

Result<std::vector<RunRecord>> collect_runs(const SweepGrid& grid, const Json& manifest,
                                            const SweepJournal& journal,
                                            const CollectOptions& options) {
  RecordIntake intake(grid, manifest, journal);
  std::string text;
  while (intake.missing() > 0) {
    const Result<bool> has_more = read_more(options.input, text);
    RECTO_RETURN_IF_ERROR(has_more.status());
    if (!has_more.value()) {
      return Status::failed(fmt::format("{} of {} runs are not done yet; call again to go on",
                                        intake.missing(), grid.run_count()));
    }
    std::vector<NumberedRecord> taken;
    Status status;
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos && status.is_ok();
         end = text.find('\n', begin)) {
      status = intake.take_line(std::string_view(text).substr(begin, end - begin), taken);
      begin = end + 1;
    }
    text.erase(0, begin);
    RECTO_RETURN_IF_ERROR(journal.append(taken));
    RECTO_RETURN_IF_ERROR(status);
    if (!options.on_finished) continue;
    for (const NumberedRecord& record : taken) options.on_finished(record.run, record.record);
  }
  return std::move(intake).records();
}

RunRecord record_run(const RunConfig& config) {
  Result<std::vector<double>> values = measure(config);
  if (!values.is_ok()) return {.values = {}, .error = values.status().message()};
  return {.values = std::move(values).value(), .error = {}};
}

std::vector<std::int64_t> runs_to_do(const SweepGrid& grid, const SweepJournal& journal) {
  std::vector<std::int64_t> runs;
  for (std::int64_t run = 0; run < grid.run_count(); ++run) {
    if (!journal.has(run)) runs.push_back(run);
  }
  return runs;
}

Result<std::vector<RunRecord>> run_sweep(const SweepGrid& grid, SweepJournal& journal,
                                         const SweepRunOptions& options) {
  std::vector<RunRecord> records(static_cast<std::size_t>(grid.run_count()));
  for (const auto& [run, record] : journal.finished()) {
    records[static_cast<std::size_t>(run)] = record;
  }
  const std::vector<std::int64_t> todo = runs_to_do(grid, journal);
  std::mutex journal_mutex;
  Status journal_status;
  std::atomic<bool> is_journal_broken{false};
  for_each_index(todo.size(), options.threads, [&](std::size_t i) {
    if (is_journal_broken.load()) return;
    const RunConfig config = grid.run_config(todo[i]);
    RunRecord record = record_run(config);
    {
      const std::lock_guard lock(journal_mutex);
      if (is_journal_broken.load()) return;
      journal_status = journal.append({{todo[i], config_hash(config), record}});
      is_journal_broken.store(!journal_status.is_ok());
    }
    if (options.on_finished) options.on_finished(todo[i], record);
    records[static_cast<std::size_t>(todo[i])] = std::move(record);
  });
  RECTO_RETURN_IF_ERROR(journal_status);
  return records;
}

std::string config_hash(const RunConfig& config) {
  return content_hash(json_text(to_json(config)));
}

}  // namespace recto::experiments
