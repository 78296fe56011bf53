#include "sim/time/linear_time_model.h"

#include <set>
#include <sstream>
#include <utility>

#include "core/json.h"
#include "sim/time/json_object.h"
#include "sim/time/time_model.h"

namespace recto::sim {
namespace {

struct Number {
  const char* name;
  double* target;
  bool is_optional = false;  // if absent, the coefficient keeps its value
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

Status check_linear_coefficients(const LinearCoefficients& coefficients) {
  const std::pair<const char*, double> fields[] = {
      {"fixed_ns", coefficients.fixed_ns},
      {"per_prefill_token_ns", coefficients.per_prefill_token_ns},
      {"per_kv_token_ns", coefficients.per_kv_token_ns},
      {"per_sequence_ns", coefficients.per_sequence_ns},
      {"per_kv_block_ns", coefficients.per_kv_block_ns},
  };
  for (const auto& [name, value] : fields) {
    if (!(value >= 0 && value <= kMaxCoefficientNs)) {
      std::ostringstream message;
      message << "field '" << name << "': " << value << "; expected 0 to " << kMaxCoefficientNs
              << " nanoseconds";
      return Status::invalid_input(message.str());
    }
  }
  return Status::ok();
}

LinearTimeModel::LinearTimeModel(LinearCoefficients coefficients)
    : coefficients_(std::move(coefficients)) {
  RECTO_CHECK_EQ(check_linear_coefficients(coefficients_), Status::ok());
}

StepCost LinearTimeModel::cost(const StepLoad& load) const {
  const double prefill_ns =
      coefficients_.per_prefill_token_ns * static_cast<double>(load.prefill_tokens.value());
  const double sequences_ns =
      coefficients_.per_sequence_ns * static_cast<double>(load.decode_sequences);
  const double kv_ns =
      coefficients_.per_kv_token_ns * static_cast<double>(load.decode_kv_tokens.value());
  const double blocks_ns =
      coefficients_.per_kv_block_ns * static_cast<double>(load.decode_kv_blocks.value());
  StepCost cost;
  cost.fixed = round_ns(coefficients_.fixed_ns);
  cost.linear = round_ns(prefill_ns + sequences_ns);
  cost.attention = round_ns(kv_ns + blocks_ns);
  return at_least_one_ns(cost);
}

std::string LinearTimeModel::describe() const {
  std::ostringstream text;
  text << "linear: " << coefficients_.fixed_ns << " ns + " << coefficients_.per_prefill_token_ns
       << " ns/prefill token + " << coefficients_.per_kv_token_ns << " ns/KV token + "
       << coefficients_.per_sequence_ns << " ns/sequence";
  if (coefficients_.per_kv_block_ns > 0) {
    text << " + " << coefficients_.per_kv_block_ns << " ns/KV block";
  }
  text << " (" << coefficients_.source << ")";
  return text.str();
}

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
