#pragma once

// Step time from attention measured on a card (cuda/bench), with that card's measured copy and
// matrix rates for the other parts. Launches between kernels and all-reduces, which no recto kernel
// performs, keep their cited constants. docs/time_models.md has the formulae.

#include <string>

#include "core/status.h"
#include "sim/time/measured_times.h"
#include "sim/time/roofline_time_model.h"
#include "sim/time/time_model.h"

namespace recto::sim {

// Whether a sequence's K and V are in blocks or contiguous.
enum class KvPlacement : std::uint8_t { kBlocks, kContiguous };

struct MeasuredSetup {
  // Model, card, ranks, block size and host work; measured values replace its curve and rates.
  RooflineSetup roofline;
  KvPlacement placement = KvPlacement::kBlocks;
};

// Attention of one decode step, in all layers.
struct MeasuredDecode {
  double ns = 0;
  CurvePart part = CurvePart::kAtPoint;
};

// Parts of the cost: fixed, linear and copy as in the roofline model, with measured rates and no
// efficiencies; attention = the measured decode time for as many bytes of K and V, plus that of
// prefill for as many operations or, if longer, of decode for as many bytes as prefill reads.
class MeasuredTimeModel final : public TimeModel {
 public:
  // Invalid input unless the setup is valid and `times` has decode and prefill of this group, head
  // dim, KV element size and block size; the message lists the nearest measured shapes.
  static Result<MeasuredTimeModel> make(const MeasuredSetup& setup, const MeasuredTimes& times);

  // O(log points).
  StepCost cost(const StepLoad& load) const override;
  std::string describe() const override { return description_; }

  // Decode attention of a step that reads K and V of `tokens`, at least 1. O(log points).
  MeasuredDecode decode(TokenCount tokens) const;

 private:
  MeasuredTimeModel(const MeasuredSetup& setup, const MeasuredTimes& times,
                    RooflineTimeModel roofline, std::vector<MeasuredPoint> decode,
                    std::vector<MeasuredPoint> prefill);

  RooflineTimeModel roofline_;
  MeasuredCurve decode_;   // of one layer, by bytes of K and V
  MeasuredCurve prefill_;  // likewise, by operations
  double layers_;
  double token_bytes_;  // K and V of one token in one layer, on one rank
  double pair_flops_;   // of one (query, visible key) pair in one layer, on one rank
  std::string description_;
};

}  // namespace recto::sim
