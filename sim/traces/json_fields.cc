#include "sim/traces/json_fields.h"

#include <limits>
#include <optional>

#include <fmt/format.h>

#include "sim/traces/row_parser.h"
#include "sim/traces/text_fields.h"

namespace recto::sim {
namespace {

template <typename T>
Result<std::vector<T>> read_whole_numbers(std::string_view field, simdjson::ondemand::value value) {
  constexpr std::uint64_t kMax = std::numeric_limits<T>::max();
  const auto wrong = [&](std::string_view what, std::string_view got) {
    return field_error(field, fmt::format("{} from 0 to {}", what, kMax), got);
  };
  const std::string_view text = raw_text(value);
  simdjson::ondemand::array array;
  if (value.get_array().get(array)) return wrong("an array of whole numbers", text);
  std::vector<T> numbers;
  for (simdjson::simdjson_result<simdjson::ondemand::value> result : array) {
    simdjson::ondemand::value element;
    if (std::move(result).get(element)) return wrong("an array of whole numbers", text);
    const std::string_view element_text = raw_text(element);
    std::uint64_t number = 0;
    if (element.get_uint64().get(number) || number > kMax) {
      return wrong("whole numbers", element_text);
    }
    numbers.push_back(static_cast<T>(number));
  }
  return numbers;
}

}  // namespace

std::string_view raw_text(simdjson::ondemand::value& value) {
  std::string_view text = value.raw_json_token();
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

Result<std::int64_t> read_token_count(std::string_view field, simdjson::ondemand::value value) {
  const std::string_view text = raw_text(value);
  std::int64_t count = 0;
  if (value.get_int64().get(count)) return field_error(field, kExpectedTokenCount, text);
  return check_token_count(field, count, text);
}

Result<JsonTime> read_time(std::string_view field, simdjson::ondemand::value value, int power,
                           std::string_view unit) {
  const std::string_view text = raw_text(value);
  double valid_json = 0;
  const bool is_number = value.get_double().get(valid_json) == simdjson::SUCCESS;
  const std::optional<std::int64_t> ns = parse_scaled_decimal(text, power);
  if (!is_number || !ns) {
    return field_error(field, fmt::format("{}, a number of at least 0", unit), text);
  }
  return JsonTime{*ns, text};
}

Result<std::vector<std::uint64_t>> read_content_ids(std::string_view field,
                                                    simdjson::ondemand::value value) {
  return read_whole_numbers<std::uint64_t>(field, value);
}

Result<std::vector<std::int32_t>> read_token_ids(std::string_view field,
                                                 simdjson::ondemand::value value) {
  return read_whole_numbers<std::int32_t>(field, value);
}

Result<std::size_t> SeenFields::claim(std::string_view name) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] != name) continue;
    if (is_seen_[i] != 0) {
      return Status::invalid_input(fmt::format("field {}: appears more than once", name));
    }
    is_seen_[i] = 1;
    return i;
  }
  return names_.size();
}

Status JsonFields::not_an_object(const Line& line) {
  return Status::invalid_input("expected one JSON object on the line, got " +
                               quote_for_message(line.text));
}

}  // namespace recto::sim
