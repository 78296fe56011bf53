#include "verify/cases/far_scores.h"

#include <cmath>

namespace recto::verify {

void reach_score(double limit, CaseSpec& spec) {
  const double bound = score_bound(spec);
  CaseSpec unbiased = spec;
  unbiased.options.alibi = AlibiFamily::kNone;
  const double product = score_bound(unbiased);
  const double room = limit - (bound - product);
  if (room <= 0) return;
  constexpr double kRounding = 1.0 - 0x1p-20;  // to fp32
  spec.options.scale = static_cast<float>(spec.options.scale * (room / product * kRounding));
}

void move_scores_far(double farthest, CaseSpec& spec) {
  OptionsSpec& options = spec.options;
  spec.q = spec.k = FloatFamily::kOutlierDim;
  options.softcap = 0.0F;
  if (options.sinks != SinkFamily::kNone) options.sinks = SinkFamily::kLowest;
  options.k_scales = ScaleKind::kNone;  // rounded code * scale would move outliers too far
  options.scale = farthest < 0 ? -1.0F : 1.0F;
  // Distances leave the scores at least half of the way.
  CaseSpec unscaled = spec;
  unscaled.options.scale = 0.0F;
  if (score_bound(unscaled) > std::abs(farthest) / 2) options.alibi = AlibiFamily::kNone;
  reach_score(std::abs(farthest), spec);
}

void peak_ends(CaseSpec& spec) {
  spec.q = FloatFamily::kUniform;
  spec.k = FloatFamily::kPeakedEnds;
  spec.shared_prefix = 0;
  spec.options.softcap = 0.0F;
  spec.options.k_scales = ScaleKind::kNone;  // would move peaks
  // q's magnitudes add up to half of the head dim: peaks are 128 and 12, about.
  spec.options.scale = 16.0F / static_cast<float>(spec.shape.head_dim_k);
}

}  // namespace recto::verify
