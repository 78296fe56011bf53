#include "experiments/sweep/sweep_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <utility>

#include "core/json_output.h"
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
  std::vector<std::string> texts;
  for (const Json& change : Json::diff(before, now)) {
    if (texts.size() == kDifferencesMax) break;
    const auto path = change["path"].get<std::string>();
    const Json::json_pointer place(path);
    const Json was = before.contains(place) ? before[place] : Json();
    const Json is = change.contains("value") ? change["value"] : Json();
    texts.push_back(fmt::format("{} was {}, is {}", path, json_text(was), json_text(is)));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace recto::experiments
