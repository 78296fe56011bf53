#include "sim/time/json_object.h"

#include <cstdint>
#include <functional>
#include <set>

#include "core/input_file.h"
#include "core/json_nesting.h"

namespace recto::sim {
namespace {

using Json = nlohmann::json;

// Finds repeated keys, which are a mistake worth naming: the DOM silently keeps the last value.
class RepeatedKeys {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      const std::string key = parsed.get<std::string>();
      if (!seen_.insert(key).second && first_.empty()) first_ = key;
    }
    return depth < kJsonNestingMax;
  }

  const std::string& first() const { return first_; }

 private:
  std::set<std::string> seen_;
  std::string first_;
};

// nlohmann reports a byte offset; an editor wants a line.
std::int64_t line_of(std::string_view text, std::size_t byte) {
  std::int64_t line = 1;
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) line += text[i] == '\n' ? 1 : 0;
  return line;
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::string_view expected) {
  Result<std::string> text = read_input_file(path);
  if (text.is_ok()) return text;
  return Status::invalid_input(path + ": cannot be read: " + text.status().message() +
                               "; expected " + std::string(expected));
}

Result<Json> parse_json_object(std::string_view text, const std::string& file_name,
                               std::string_view expected) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  RepeatedKeys repeated;
  Json object;
  try {
    object = Json::parse(text.begin(), text.end(), std::ref(repeated));
  } catch (const Json::parse_error& error) {
    return Status::invalid_input(file_name + ", line " + std::to_string(line_of(text, error.byte)) +
                                 ": not valid JSON; expected " + std::string(expected));
  } catch (const Json::exception&) {
    return Status::invalid_input(file_name +
                                 ": a number is out of range; expected one that a double holds");
  }
  if (!object.is_object()) {
    return Status::invalid_input(file_name + ": expected " + std::string(expected) + ", not " +
                                 object.type_name());
  }
  if (!repeated.first().empty()) {
    return Status::invalid_input(file_name + ", field '" + repeated.first() +
                                 "': given twice; expected once");
  }
  return object;
}

}  // namespace recto::sim
