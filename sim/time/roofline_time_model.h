#pragma once

// Step time from first principles: bytes over bandwidth or FLOPs over peak, whichever is longer,
// each derated by a constant from the literature. docs/time_models.md has the formulae.

#include <cstdint>
#include <string>

#include "core/gpu_table.h"
#include "core/kv_sizing.h"
#include "core/model_table.h"
#include "core/status.h"
#include "sim/time/attention_efficiency.h"
#include "sim/time/roofline_constants.h"
#include "sim/time/time_model.h"

namespace recto::sim {

enum class HostWork : std::uint8_t {
  kOverlapped,  // the host prepares the next step while the card runs: vLLM's async scheduling
  kExposed,     // the card waits for the host between steps
};

struct RooflineSetup {
  ModelSpec model;
  GpuSpec gpu;
  KvShape shape;  // block size, KV element, tensor parallelism
  AttentionCurve curve = default_attention_curve();
  RooflineConstants constants;
  HostWork host_work = HostWork::kOverlapped;
};

// The setup reduced to nanoseconds per unit of a StepLoad, on one rank.
struct RooflineRates {
  double fixed_ns = 0;
  double weight_read_ns = 0;         // all weights once
  double token_matmul_ns = 0;        // per token: the layers' matrices
  double head_matmul_ns = 0;         // per sampled row: the output head
  double all_reduce_latency_ns = 0;  // per step; 0 on one rank
  double all_reduce_token_ns = 0;    // per token; 0 on one rank
  double kv_token_read_ns = 0;       // per KV token read
  double kv_block_ns = 0;            // per block-table entry
  double prefill_pair_ns = 0;        // per (query, visible key) pair
  double copied_slot_ns = 0;         // per slot read and written
};

// Parts of the cost: fixed = launches and exposed host work; linear = max(weights read, matrix
// products) and all-reduces; attention = decode KV and table reads, then prefill's
// max(KV reads, pairs); copy = copy-on-write.
class RooflineTimeModel final : public TimeModel {
 public:
  // Invalid input if the model, the shape, the curve or a constant is unusable.
  static Result<RooflineTimeModel> make(const RooflineSetup& setup);

  StepCost cost(const StepLoad& load) const override;

  // Names card, model, ranks and block size, and says that constants and curve are cited.
  std::string describe() const override;

  const RooflineRates& rates() const { return rates_; }

 private:
  explicit RooflineTimeModel(const RooflineSetup& setup);

  RooflineRates rates_;
  std::string description_;
};

}  // namespace recto::sim
