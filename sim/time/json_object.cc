#include "sim/time/json_object.h"

#include "core/input_file.h"

namespace recto::sim {

Result<std::string> read_text(const std::string& path, std::string_view expected) {
  Result<std::string> text = read_input_file(path);
  if (text.is_ok()) return text;
  return Status::invalid_input(path + ": cannot be read: " + text.status().message() +
                               "; expected " + std::string(expected));
}

Result<Json> parse_json_object(std::string_view text, const std::string& file_name,
                               std::string_view expected) {
  JsonReading reading = read_json(text);
  if (reading.fault == JsonReading::Fault::kRange) {
    return Status::invalid_input(
        file_name + ": a number is out of range; expected one within the range of a double");
  }
  if (reading.fault != JsonReading::Fault::kNone) {
    return Status::invalid_input(file_name + ", line " + std::to_string(reading.line) +
                                 ": not valid JSON; expected " + std::string(expected));
  }
  if (!reading.json.is_object()) {
    return Status::invalid_input(file_name + ": expected " + std::string(expected) + ", not " +
                                 reading.json.type_name());
  }
  for (const RepeatedKey& repeated : reading.repeated) {
    if (!repeated.object.empty()) continue;
    return Status::invalid_input(file_name + ", field '" + repeated.key +
                                 "': given twice; expected once");
  }
  return std::move(reading.json);
}

}  // namespace recto::sim
