#include "verify/cases/demanded_case.h"

#include <algorithm>
#include <cmath>

#include "verify/cases/context_lengths.h"

namespace recto::verify {
namespace {

void require(CaseFeature feature, RandomStream& stream, CaseSpec& spec) {
  OptionsSpec& options = spec.options;
  SequenceSpec& last = spec.sequences.back();
  switch (feature) {
    case CaseFeature::kSoftcap:
      options.softcap = 30.0F;
      break;
    case CaseFeature::kWindow:
      options.window = draw_window(spec, stream);
      break;
    case CaseFeature::kAlibi:
      options.alibi = AlibiFamily::kUsual;
      break;
    case CaseFeature::kSinks:
      options.sinks = SinkFamily::kComparable;
      break;
    case CaseFeature::kScales:
      if (is_fp8(spec.shape.kv_type)) options.k_scales = options.v_scales = ScaleKind::kPerTensor;
      break;
    case CaseFeature::kNonCausal:
      options.causal = false;
      break;
    case CaseFeature::kNegativeScale:
      options.scale = -options.scale;
      break;
    case CaseFeature::kEmpty:
      last.context_length = 0;
      spec.shared_prefix = std::min(spec.shared_prefix, spec.longest_context());
      break;
    case CaseFeature::kRowsBeyondContext:
      if (last.num_rows > 1) last.context_length = std::min(last.context_length, last.num_rows - 1);
      spec.shared_prefix = std::min(spec.shared_prefix, spec.longest_context());
      break;
    case CaseFeature::kPadding:
      spec.placement.row_padding = spec.placement.block_padding = 16;
      break;
  }
}

}  // namespace

std::int64_t draw_window(const CaseSpec& spec, RandomStream& stream) {
  const LengthDomain edges{.sizes = {1, spec.placement.block_size, spec.longest_context() + 1},
                           .max = spec.longest_context() + 2};
  return std::max<std::int64_t>(1, draw_length(edges, stream));
}

void meet_demands(const CaseDomain& domain, RandomStream stream, CaseSpec& spec) {
  OptionsSpec& options = spec.options;
  for (SequenceSpec& sequence : spec.sequences) {
    std::int64_t& context = sequence.context_length;
    if (!domain.has_empty) sequence.num_rows = std::max<std::int64_t>(1, sequence.num_rows);
    if (!domain.has_empty) context = std::max<std::int64_t>(1, context);
    const std::int64_t rows_max = std::max<std::int64_t>(1, context);
    if (!domain.has_rows_beyond_context) sequence.num_rows = std::min(sequence.num_rows, rows_max);
  }
  for (ScaleKind* kind : {&options.k_scales, &options.v_scales})
    if (!domain.has_scales_of_heads && *kind == ScaleKind::kPerKvHead)
      *kind = ScaleKind::kPerTensor;
  for (const CaseFeature feature : domain.required)
    if (!has_feature(spec, feature)) require(feature, stream, spec);
  options.has_sinks_of_q_type = domain.has_sinks_of_q_type && options.sinks != SinkFamily::kNone;
  spec.placement.tails = domain.tails;
  options.scale = scale_among(domain.scale_values, options.scale, spec.shape.head_dim_k);
  // Longer distances, and another scale, may have moved scores beyond the limit.
  if (score_bound(spec) > kScoreLimit) spec.q = spec.k = FloatFamily::kUniform;
  if (score_bound(spec) > kScoreLimit && domain.scale_values == ScaleValues::kAny)
    options.scale = std::copysign(1.0F / static_cast<float>(spec.shape.head_dim_k), options.scale);
  if (score_bound(spec) > kScoreLimit) options.alibi = AlibiFamily::kNone;
}

}  // namespace recto::verify
