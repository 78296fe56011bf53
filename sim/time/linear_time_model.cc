#include "sim/time/linear_time_model.h"

#include <sstream>
#include <utility>

#include "sim/time/round_ns.h"

namespace recto::sim {

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

}  // namespace recto::sim
