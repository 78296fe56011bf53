#include "experiments/sweep/sweep_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"

namespace recto::experiments {
namespace {

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

// Keeps the first places, as JSON pointers, in which two documents differ.
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
