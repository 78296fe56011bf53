#pragma once

// Step time as a sum of at most five terms, with coefficients fitted to a measured run. They are
// read from JSON: one object with exactly the fields of LinearCoefficients, of which only
// per_kv_block_ns may be missing, e.g.
//
//   {"source": "vLLM 0.19, Llama-3.1-8B, RTX 4090", "fixed_ns": 17250000,
//    "per_prefill_token_ns": 83000, "per_kv_token_ns": 171, "per_sequence_ns": 8500}

#include <string>
#include <string_view>

#include "core/status.h"
#include "sim/time/time_model.h"

namespace recto::sim {

// In nanoseconds, not necessarily whole; finite and non-negative.
struct LinearCoefficients {
  double fixed_ns = 0;              // per step
  double per_prefill_token_ns = 0;  // per prompt token computed
  double per_kv_token_ns = 0;       // per KV token that decode reads
  double per_sequence_ns = 0;       // per sequence that decodes
  std::string source;               // the run that they were fitted to; for reports
  double per_kv_block_ns = 0;       // per block-table entry that decode walks; 0: not fitted

  friend bool operator==(const LinearCoefficients&, const LinearCoefficients&) = default;
};

// Invalid input, naming the coefficient, unless each is in [0, kMaxCoefficientNs].
Status check_linear_coefficients(const LinearCoefficients& coefficients);

// One hour: anything larger is a unit error.
inline constexpr double kMaxCoefficientNs = 3.6e12;

// step = fixed + per_prefill_token * prefill_tokens + per_kv_token * decode_kv_tokens
//              + per_sequence * decode_sequences + per_kv_block * decode_kv_blocks
// Parts of the cost: fixed; linear = prefill and sequences; attention = KV tokens and blocks. Each
// part is rounded once. Without per_kv_block, nothing depends on the block size.
class LinearTimeModel final : public TimeModel {
 public:
  // The coefficients must pass check_linear_coefficients.
  explicit LinearTimeModel(LinearCoefficients coefficients);

  StepCost cost(const StepLoad& load) const override;
  std::string describe() const override;

  const LinearCoefficients& coefficients() const { return coefficients_; }

 private:
  LinearCoefficients coefficients_;
};

// Returns invalid input, naming `file_name`, the field and what was expected, if `text` is not such
// an object: a missing, repeated, unknown or wrongly typed field, or an empty source.
Result<LinearCoefficients> parse_linear_time_model(std::string_view text,
                                                   const std::string& file_name);

// Reads `path` and parses it. Also invalid input if the file cannot be read.
Result<LinearCoefficients> load_linear_time_model(const std::string& path);

}  // namespace recto::sim
