#include "sim/time/linear_time_model_file.h"

#include <set>

#include "core/json.h"
#include "sim/time/json_object.h"

namespace recto::sim {
namespace {

struct Number {
  const char* name;
  double* target;
  bool is_optional = false;  // if absent, it keeps its value
};

Status read_number(const Json& object, const Number& number) {
  const Json* const field = object.find(number.name);
  if (field == nullptr && number.is_optional) return Status::ok();
  if (field == nullptr || !field->is_number()) {
    return Status::invalid_input(
        std::string("field '") + number.name +
        "': " + (field == nullptr ? "missing" : std::string("is ") + field->type_name()) +
        "; expected a number of nanoseconds");
  }
  *number.target = field->get<double>();
  return Status::ok();
}

}  // namespace

Result<LinearCoefficients> parse_linear_time_model(std::string_view text,
                                                   const std::string& file_name) {
  const Result<Json> parsed = parse_json_object(text, file_name, "an object of coefficients");
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
  const Json* const source = object.find("source");
  if (source == nullptr || !source->is_string() || source->get<std::string>().empty()) {
    return Status::invalid_input(file_name +
                                 ", field 'source': expected a string that says what the "
                                 "coefficients were fitted on");
  }
  coefficients.source = source->get<std::string>();
  for (const auto& [key, value] : object.items()) {
    if (!known_names.contains(key)) {
      return Status::invalid_input(file_name + ", field '" + key + "': unknown; expected only " +
                                   known);
    }
  }
  RECTO_RETURN_IF_ERROR(check_linear_coefficients(coefficients).in(file_name));
  return coefficients;
}

Result<LinearCoefficients> load_linear_time_model(const std::string& path) {
  const Result<std::string> text = read_text(path, "a JSON file of coefficients");
  if (!text.is_ok()) return text.status();
  return parse_linear_time_model(text.value(), path);
}

}  // namespace recto::sim
