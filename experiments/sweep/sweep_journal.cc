#include "experiments/sweep/sweep_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "experiments/support/text_file.h"

namespace recto::experiments {
namespace {

constexpr int kNoFile = -1;

Json values_json(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(std::isfinite(value) ? Json(value) : Json());
  return json;
}

std::optional<std::vector<double>> values_from(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<double> values;
  for (const Json& value : json) {
    if (!value.is_number() && !value.is_null()) return std::nullopt;
    values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                     : value.get<double>());
  }
  return values;
}

constexpr std::size_t kDifferencesMax = 3;

// "/grid/axes/block_size/1 was 16, is 32": the first places in which two identities differ.
std::string differences(const Json& before, const Json& now) {
  std::vector<std::string> texts;
  for (const Json& change : Json::diff(before, now)) {
    if (texts.size() == kDifferencesMax) break;
    const auto path = change["path"].get<std::string>();
    const Json::json_pointer place(path);
    const Json was = before.contains(place) ? before[place] : Json();
    const Json is = change.contains("value") ? change["value"] : Json();
    texts.push_back(fmt::format("{} was {}, is {}", path, was.dump(), is.dump()));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

// The complete lines of a text, without their ends; what follows the last newline is none.
std::vector<std::string> complete_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

SweepJournal::SweepJournal(SweepJournal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, kNoFile)),
      value_count_(other.value_count_),
      finished_(std::move(other.finished_)),
      hashes_(std::move(other.hashes_)) {}

SweepJournal::~SweepJournal() {
  if (file_ != kNoFile) close(file_);
}

Status SweepJournal::failure(const std::string& what) const {
  return Status::failed(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

Result<SweepJournal> SweepJournal::open(const std::string& path, const Json& identity,
                                        JournalStart start) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file == kNoFile) {
    return Status::invalid_input(
        fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  SweepJournal journal(path, file);
  RECTO_RETURN_IF_ERROR(journal.lock());
  if (start == JournalStart::kFresh && ftruncate(file, 0) != 0) {
    return journal.failure("cannot be emptied");
  }
  RECTO_RETURN_IF_ERROR(journal.load(identity));
  return journal;
}

Status SweepJournal::lock() const {
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return Status::ok();
  if (errno == EWOULDBLOCK) {
    return Status::invalid_input(path_ + ": another sweep is writing there; name another --out");
  }
  return failure("cannot be locked");
}

Status SweepJournal::load(const Json& identity) {
  const Result<std::string> text = read_text_file(path_);
  RECTO_RETURN_IF_ERROR(text.status());
  const std::vector<std::string> lines = complete_lines(text.value());
  value_count_ = identity["columns"].size();
  off_t kept_bytes = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bool is_good = false;
    if (i == 0) {
      const Json before = Json::parse(lines[0], nullptr, /*allow_exceptions=*/false);
      is_good = before.is_object();
      if (is_good && before != identity) {
        return Status::invalid_input(fmt::format(
            "{}: is of another sweep ({}); start anew with --fresh, or name another --out", path_,
            differences(before, identity)));
      }
    } else {
      is_good = take_record(lines[i]);
    }
    if (!is_good && i + 1 < lines.size()) {
      return Status::invalid_input(fmt::format(
          "{}:{}: is damaged; expected a finished run; start anew with --fresh", path_, i + 1));
    }
    if (is_good) kept_bytes += static_cast<off_t>(lines[i].size() + 1);
  }
  if (ftruncate(file_, kept_bytes) != 0) return failure("cannot be shortened");
  return kept_bytes == 0 ? write_line(identity) : Status::ok();
}

bool SweepJournal::take_record(const std::string& line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("run") || !json["run"].is_number_integer() ||
      !json.contains("config") || !json["config"].is_string()) {
    return false;
  }
  if (json.contains("error")) return json["error"].is_string();
  if (!json.contains("values")) return false;
  std::optional<std::vector<double>> values = values_from(json["values"]);
  if (!values || values->size() != value_count_) return false;
  const auto run = json["run"].get<std::int64_t>();
  finished_[run] = {.values = std::move(*values), .error = {}};
  hashes_[run] = json["config"].get<std::string>();
  return true;
}

bool SweepJournal::has(std::int64_t run, const std::string& hash) const {
  const auto found = hashes_.find(run);
  return found != hashes_.end() && found->second == hash;
}

Status SweepJournal::append(std::int64_t run, const std::string& hash, const RunRecord& record) {
  Json line = {{"run", run}, {"config", hash}};
  if (record.is_ok()) {
    line["values"] = values_json(record.values);
  } else {
    line["error"] = record.error;
  }
  return write_line(line);
}

Status SweepJournal::write_line(const Json& line) const {
  const std::string text =
      line.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure("cannot be written");
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return fdatasync(file_) == 0 ? Status::ok() : failure("cannot be written");
}

}  // namespace recto::experiments
