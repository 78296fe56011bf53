#include "sim/time/linear_time_model_file.h"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace recto::sim {
namespace {

using Json = nlohmann::json;

// The DOM keeps the last of two equal keys; a repeated coefficient is a mistake worth naming.
class RepeatedKeys {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      const std::string key = parsed.get<std::string>();
      if (!seen_.insert(key).second && first_.empty()) first_ = key;
    }
    return true;
  }

  const std::string& first() const { return first_; }

 private:
  std::set<std::string> seen_;
  std::string first_;
};

// nlohmann reports a byte offset; an editor wants a line.
Status syntax_error(std::string_view text, std::size_t byte, const std::string& file_name) {
  std::int64_t line = 1;
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) line += text[i] == '\n' ? 1 : 0;
  return Status::invalid_input(file_name + ", line " + std::to_string(line) +
                               ": not valid JSON; expected an object of coefficients");
}

Result<Json> parse_object(std::string_view text, const std::string& file_name) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  RepeatedKeys repeated;
  Json object;
  try {
    object = Json::parse(text.begin(), text.end(), std::ref(repeated));
  } catch (const Json::parse_error& error) {
    return syntax_error(text, error.byte, file_name);
  } catch (const Json::exception&) {  // a number that no double holds
    return Status::invalid_input(file_name + ": a number is out of range; expected at most " +
                                 std::to_string(kMaxCoefficientNs));
  }
  if (!object.is_object()) {
    return Status::invalid_input(file_name + ": expected an object of coefficients, not " +
                                 object.type_name());
  }
  if (!repeated.first().empty()) {
    return Status::invalid_input(file_name + ", field '" + repeated.first() +
                                 "': given twice; expected once");
  }
  return object;
}

struct Number {
  const char* name;
  double* target;
  bool is_optional = false;  // absent, it stays what it is
};

Status read_number(const Json& object, const Number& number) {
  const auto field = object.find(number.name);
  if (field == object.end() && number.is_optional) return Status::ok();
  if (field == object.end() || !field->is_number()) {
    return Status::invalid_input(
        std::string("field '") + number.name +
        "': " + (field == object.end() ? "missing" : std::string("is ") + field->type_name()) +
        "; expected a number of nanoseconds");
  }
  *number.target = field->get<double>();
  return Status::ok();
}

}  // namespace

Result<LinearCoefficients> parse_linear_time_model(std::string_view text,
                                                   const std::string& file_name) {
  Result<Json> parsed = parse_object(text, file_name);
  if (!parsed.is_ok()) return parsed.status();
  const Json& object = parsed.value();

  LinearCoefficients coefficients;
  const Number numbers[] = {
      {"fixed_ns", &coefficients.fixed_ns},
      {"per_prefill_token_ns", &coefficients.per_prefill_token_ns},
      {"per_kv_token_ns", &coefficients.per_kv_token_ns},
      {"per_sequence_ns", &coefficients.per_sequence_ns},
      {"per_kv_block_ns", &coefficients.per_kv_block_ns, /*is_optional=*/true},
  };
  std::string known = "source";
  std::set<std::string> known_names = {known};
  for (const Number& number : numbers) {
    RECTO_RETURN_IF_ERROR(read_number(object, number).in(file_name));
    known_names.insert(number.name);
    known += std::string(", ") + number.name;
  }
  const auto source = object.find("source");
  if (source == object.end() || !source->is_string() ||
      source->get_ref<const std::string&>().empty()) {
    return Status::invalid_input(file_name +
                                 ", field 'source': expected a string that says what the "
                                 "coefficients were fitted on");
  }
  coefficients.source = source->get<std::string>();
  for (const auto& field : object.items()) {
    if (!known_names.contains(field.key())) {
      return Status::invalid_input(file_name + ", field '" + field.key() +
                                   "': unknown; expected only " + known);
    }
  }
  RECTO_RETURN_IF_ERROR(check_linear_coefficients(coefficients).in(file_name));
  return coefficients;
}

// By stdio: a stream buffer throws where a folder is read.
Result<LinearCoefficients> load_linear_time_model(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  std::string text;
  std::array<char, 1 << 14> chunk;
  while (file != nullptr) {
    const std::size_t size = std::fread(chunk.data(), 1, chunk.size(), file.get());
    if (size == 0) break;
    text.append(chunk.data(), size);
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return Status::invalid_input(path + ": cannot be read: " + std::strerror(errno) +
                                 "; expected a JSON file of coefficients");
  }
  return parse_linear_time_model(text, path);
}

}  // namespace recto::sim
