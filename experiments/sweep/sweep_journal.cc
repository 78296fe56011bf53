#include "experiments/sweep/sweep_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

constexpr int kNoFile = -1;

// The complete lines of a text, without their ends; leaves out the text after the last newline.
std::vector<std::string> complete_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

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

// The hash of a record without its check.
std::string check_of(const Json& record) {
  constexpr std::size_t kDigits = 16;
  return content_hash(json_line(record)).substr(0, kDigits);
}

bool is_as_written(const Json& json) {
  Json rest = json;
  rest.erase("check");
  return json.contains("check") && json["check"] == check_of(rest);
}

constexpr std::size_t kDifferencesMax = 3;

// A key as a step of a JSON pointer, RFC 6901.
std::string step(const std::string& key) {
  std::string step = "/";
  for (const char c : key) step += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return step;
}

// The first places, as JSON pointers, in which two documents differ.
class Differences {
 public:
  void compare(const std::string& place, const Json& before, const Json& now) {
    if (before == now) return;
    if (before.is_array() && now.is_array()) {
      compare_items(place, before, now);
    } else if (before.is_object() && now.is_object()) {
      compare_members(place, before, now);
    } else {
      add(place, before, now);
    }
  }

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  void compare_items(const std::string& place, const Json& before, const Json& now) {
    const auto item = [&place](std::size_t index) { return fmt::format("{}/{}", place, index); };
    const std::size_t common = std::min(before.size(), now.size());
    for (std::size_t i = 0; i < common; ++i) compare(item(i), before[i], now[i]);
    for (std::size_t i = before.size(); i > common; --i) add(item(i - 1), before[i - 1], Json());
    for (std::size_t i = common; i < now.size(); ++i) add(place + "/-", Json(), now[i]);
  }

  void compare_members(const std::string& place, const Json& before, const Json& now) {
    for (const auto& [key, value] : before.items()) {
      const Json* const found = now.find(key);
      if (found != nullptr) compare(place + step(key), value, *found);
      if (found == nullptr) add(place + step(key), value, Json());
    }
    for (const auto& [key, value] : now.items())
      if (!before.contains(key)) add(place + step(key), Json(), value);
  }

  void add(const std::string& place, const Json& was, const Json& is) {
    if (texts_.size() == kDifferencesMax) return;
    texts_.push_back(fmt::format("{} was {}, is {}", place, json_text(was), json_text(is)));
  }

  std::vector<std::string> texts_;
};

}  // namespace

SweepJournal::SweepJournal(SweepJournal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, kNoFile)),
      value_count_(other.value_count_),
      dropped_bytes_(other.dropped_bytes_),
      finished_(std::move(other.finished_)) {}

SweepJournal::~SweepJournal() {
  if (file_ != kNoFile) close(file_);
}

Status SweepJournal::failure(const std::string& what) const {
  return Status::failed(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

Result<SweepJournal> SweepJournal::open(const std::string& path, const Json& identity,
                                        const ConfigHashOf& config_hash_of, JournalStart start) {
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
  RECTO_RETURN_IF_ERROR(journal.load(identity, config_hash_of));
  return journal;
}

Status SweepJournal::lock() const {
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return Status::ok();
  if (errno == EWOULDBLOCK) {
    return Status::invalid_input(path_ + ": another sweep is writing there; name another --out");
  }
  return failure("cannot be locked");
}

Status SweepJournal::load(const Json& identity, const ConfigHashOf& config_hash_of) {
  const Result<std::string> text = read_text_file(path_);
  RECTO_RETURN_IF_ERROR(text.status());
  const std::vector<std::string> lines = complete_lines(text.value());
  value_count_ = identity["columns"].size();
  off_t kept_bytes = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Result<bool> is_good =
        i == 0 ? check_identity(lines[0], identity) : take_record(lines[i], config_hash_of);
    RECTO_RETURN_IF_ERROR(is_good.status().in(fmt::format("{}:{}", path_, i + 1)));
    if (!is_good.value() && i + 1 < lines.size()) {
      return Status::invalid_input(fmt::format(
          "{}:{}: is damaged; expected a finished run; start anew with --fresh", path_, i + 1));
    }
    if (is_good.value()) kept_bytes += static_cast<off_t>(lines[i].size() + 1);
  }
  if (ftruncate(file_, kept_bytes) != 0) return failure("cannot be shortened");
  dropped_bytes_ = text.value().size() - static_cast<std::size_t>(kept_bytes);
  return kept_bytes == 0 ? write_lines(json_line(identity)) : Status::ok();
}

Result<bool> SweepJournal::check_identity(const std::string& line, const Json& identity) const {
  const Json before = read_json(line).json;
  if (!before.is_object()) return false;
  if (before == identity) return true;
  return Status::invalid_input(
      fmt::format("belongs to another sweep ({}); start anew with --fresh, or name another --out",
                  differences(before, identity)));
}

Result<bool> SweepJournal::take_record(const std::string& line,
                                       const ConfigHashOf& config_hash_of) {
  std::optional<NumberedRecord> taken = record_from(read_json(line).json, value_count_);
  if (!taken) return false;
  if (config_hash_of(taken->run) != taken->config) {
    return Status::invalid_input(
        fmt::format("found run {} with settings of another sweep; expected a run of this one; "
                    "start anew with --fresh",
                    taken->run));
  }
  if (taken->record.is_ok()) finished_[taken->run] = std::move(taken->record);
  return true;
}

Status SweepJournal::append(const std::vector<NumberedRecord>& records) const {
  std::string lines;
  for (const NumberedRecord& record : records) lines += record_line(record);
  return write_lines(lines);
}

Status SweepJournal::write_lines(const std::string& text) const {
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure("cannot be written");
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  return fdatasync(file_) == 0 ? Status::ok() : failure("cannot be written");
}

std::string json_line(const Json& json) { return json_text(json) + "\n"; }

std::string record_line(const NumberedRecord& numbered) {
  Json line = {{"run", numbered.run}, {"config", numbered.config}};
  if (numbered.record.is_ok()) {
    line["values"] = values_json(numbered.record.values);
  } else {
    line["error"] = numbered.record.error;
  }
  line["check"] = check_of(line);
  return json_line(line);
}

std::optional<NumberedRecord> record_from(const Json& json, std::size_t value_count) {
  if (!json.is_object() || !json.contains("run") || !json["run"].is_number_integer() ||
      !json.contains("config") || !json["config"].is_string() || !is_as_written(json)) {
    return std::nullopt;
  }
  NumberedRecord numbered{json["run"].get<std::int64_t>(), json["config"].get<std::string>(), {}};
  if (json.contains("error")) {
    if (!json["error"].is_string()) return std::nullopt;
    numbered.record.error = json["error"].get<std::string>();
    return numbered;
  }
  if (!json.contains("values")) return std::nullopt;
  std::optional<std::vector<double>> values = values_from(json["values"]);
  if (!values || values->size() != value_count) return std::nullopt;
  numbered.record.values = std::move(*values);
  return numbered;
}

std::string differences(const Json& before, const Json& now) {
  Differences found;
  found.compare("", before, now);
  return fmt::format("{}", fmt::join(found.texts(), "; "));
}

}  // namespace recto::experiments
