#include "experiments/verify/feature_counts.h"

#include <fmt/format.h>

#include "experiments/cases/case_filter.h"
#include "verify/cases/case_feature.h"

namespace recto::experiments {

void FeatureCounts::add(const verify::CaseSpec& spec, const verify::LawVerdict& verdict) {
  const auto count = [&](const std::string& name) {
    Count& counted = counts_[name];
    ++counted.checks;
    counted.failed += verdict.failed() ? 1 : 0;
  };
  for (const verify::CaseFeature feature : verify::kCaseFeatures)
    if (has_feature(spec, feature)) count(case_feature_name(feature));
  count(type_pair_name(spec.types()));
  count(kv_layout_name(spec.placement.layout));
  count(fmt::format("head dim {}", spec.shape.head_dim_k));
  count(fmt::format("block size {}", spec.placement.block_size));
  count(fmt::format("group {}", spec.shape.group()));
}

Json FeatureCounts::json() const {
  Json json = Json::object();
  for (const auto& [name, count] : counts_)
    json[name] = {{"checks", count.checks}, {"failed", count.failed}};
  return json;
}

}  // namespace recto::experiments
