#include "verify/cases/case_feature.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"

namespace recto::verify {
namespace {

bool is_empty(std::int64_t num_rows, std::int64_t context_length) {
  return num_rows == 0 || context_length == 0;
}

// One row of an empty context is the decode of an empty sequence.
bool is_beyond(std::int64_t num_rows, std::int64_t context_length) {
  return num_rows > std::max<std::int64_t>(1, context_length);
}

template <typename Holds>
bool any_sequence(const PagedAttentionInputs& inputs, const Holds& holds) {
  for (std::size_t s = 0; s < inputs.context_length.size(); ++s) {
    const std::int64_t rows =
        inputs.query_start.empty() ? 1 : inputs.query_start[s + 1] - inputs.query_start[s];
    if (holds(rows, inputs.context_length[s])) return true;
  }
  return false;
}

bool has_gaps(const RowsView& rows) {
  return rows.head_stride != rows.head_dim || rows.row_stride != rows.num_heads * rows.head_dim;
}

bool has_gaps(const KvTensorView& cache) {
  const std::int64_t block = cache.num_kv_heads * cache.head_dim * cache.block_size;
  if (cache.block_stride != block) return true;
  switch (cache.layout) {
    case KvLayout::kTokenMajor:
      return cache.head_stride != cache.head_dim ||
             cache.slot_stride != cache.num_kv_heads * cache.head_dim;
    case KvLayout::kHeadMajor:
      return cache.slot_stride != cache.head_dim ||
             cache.head_stride != cache.block_size * cache.head_dim;
    case KvLayout::kPacked:
      return cache.slot_stride != cache.pack_width ||
             cache.pack_stride != cache.block_size * cache.pack_width ||
             cache.head_stride != cache.block_size * cache.head_dim;
  }
  RECTO_UNREACHABLE("all layouts are listed");
}

}  // namespace

bool has_feature(const CaseSpec& spec, CaseFeature feature) {
  const OptionsSpec& options = spec.options;
  const Placement& placement = spec.placement;
  const auto any = [&spec](const auto& holds) {
    return std::ranges::any_of(spec.sequences, [&](const SequenceSpec& sequence) {
      return holds(sequence.num_rows, sequence.context_length);
    });
  };
  switch (feature) {
    case CaseFeature::kSoftcap:
      return options.softcap > 0;
    case CaseFeature::kWindow:
      return options.window.has_value();
    case CaseFeature::kAlibi:
      return options.alibi != AlibiFamily::kNone;
    case CaseFeature::kSinks:
      return options.sinks != SinkFamily::kNone;
    case CaseFeature::kScales:
      return options.k_scales != ScaleKind::kNone || options.v_scales != ScaleKind::kNone;
    case CaseFeature::kNonCausal:
      return !options.causal;
    case CaseFeature::kNegativeScale:
      return options.scale < 0;
    case CaseFeature::kEmpty:
      return any(is_empty);
    case CaseFeature::kRowsBeyondContext:
      return any(is_beyond);
    case CaseFeature::kPadding:
      return placement.block_padding > 0 || placement.row_padding > 0 || placement.gaps != Gaps{};
  }
  RECTO_UNREACHABLE("all features are listed");
}

bool has_feature(const PagedAttentionInputs& inputs, CaseFeature feature) {
  const AttentionOptions& options = inputs.options;
  switch (feature) {
    case CaseFeature::kSoftcap:
      return options.softcap > 0;
    case CaseFeature::kWindow:
      return options.window.has_value();
    case CaseFeature::kAlibi:
      return !options.alibi_slopes.empty();
    case CaseFeature::kSinks:
      return !options.sinks.empty();
    case CaseFeature::kScales:
      return inputs.kv.k.scale.kind != ScaleKind::kNone ||
             inputs.kv.v.scale.kind != ScaleKind::kNone;
    case CaseFeature::kNonCausal:
      return !options.causal;
    case CaseFeature::kNegativeScale:
      return options.scale < 0;
    case CaseFeature::kEmpty:
      return any_sequence(inputs, is_empty);
    case CaseFeature::kRowsBeyondContext:
      return any_sequence(inputs, is_beyond);
    case CaseFeature::kPadding:
      return has_gaps(inputs.q) || has_gaps(inputs.kv.k) || has_gaps(inputs.kv.v);
  }
  RECTO_UNREACHABLE("all features are listed");
}

float scale_among(ScaleValues values, float scale, std::int64_t head_dim) {
  switch (values) {
    case ScaleValues::kAny:
      return scale;
    case ScaleValues::kUnit:
      return 1.0F;
    case ScaleValues::kUsual:
      return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
    case ScaleValues::kPowerOfTwo:
      return std::exp2(std::floor(std::log2(std::abs(scale))));
  }
  RECTO_UNREACHABLE("all values are listed");
}

}  // namespace recto::verify
