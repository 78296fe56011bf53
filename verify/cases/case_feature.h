#pragma once

// Properties of a case that a program may not serve, or that its author wants in each case. The
// names are those of --without and --require.

#include <array>
#include <cstdint>

#include "core/attention_views.h"
#include "verify/cases/case_spec.h"

namespace recto::verify {

enum class CaseFeature : std::uint8_t {
  kSoftcap,
  kWindow,
  kAlibi,
  kSinks,
  kScales,  // of an fp8 cache
  kNonCausal,
  kNegativeScale,
  kEmpty,              // a sequence without context, or without rows
  kRowsBeyondContext,  // more rows than keys, in a context that is not empty
  kPadding,            // gaps between rows, heads, slots or blocks
};

inline constexpr std::array<CaseFeature, 10> kCaseFeatures = {
    CaseFeature::kSoftcap,       CaseFeature::kWindow, CaseFeature::kAlibi,
    CaseFeature::kSinks,         CaseFeature::kScales, CaseFeature::kNonCausal,
    CaseFeature::kNegativeScale, CaseFeature::kEmpty,  CaseFeature::kRowsBeyondContext,
    CaseFeature::kPadding};

constexpr const char* case_feature_name(CaseFeature feature) {
  constexpr const char* kNames[] = {"softcap",        "window", "alibi",
                                    "sinks",          "scales", "non-causal",
                                    "negative-scale", "empty",  "rows-beyond-context",
                                    "padding"};
  return kNames[static_cast<int>(feature)];
}

bool has_feature(const CaseSpec& spec, CaseFeature feature);
bool has_feature(const PagedAttentionInputs& inputs, CaseFeature feature);

// Which factors of the scores are drawn.
enum class ScaleValues : std::uint8_t {
  kAny,
  kUnit,        // 1
  kUsual,       // 1 / sqrt(head_dim)
  kPowerOfTwo,  // positive
};

inline constexpr std::array<ScaleValues, 4> kScaleValues = {
    ScaleValues::kAny, ScaleValues::kUnit, ScaleValues::kUsual, ScaleValues::kPowerOfTwo};

constexpr const char* scale_values_name(ScaleValues values) {
  constexpr const char* kNames[] = {"any", "unit", "usual", "power-of-two"};
  return kNames[static_cast<int>(values)];
}

// The scale of these values that is nearest to `scale` from below.
float scale_among(ScaleValues values, float scale, std::int64_t head_dim);

}  // namespace recto::verify
