#include "verify/cases/case_demands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reference/rounding.h"

namespace recto::verify {
namespace {

template <typename T>
bool admits(const std::vector<T>& list, const T& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

template <typename T>
void restrict_to(const std::vector<T>& list, std::vector<T>& values) {
  if (!list.empty()) values = list;
}

bool includes(const std::vector<CaseFeature>& features, CaseFeature feature) {
  return std::ranges::find(features, feature) != features.end();
}

bool is_exact(float value, ElementType type) {
  return reference::decode(reference::encode(value, type), type) == static_cast<double>(value);
}

}  // namespace

Status CaseDemands::check() const {
  for (const CaseFeature feature : require) {
    const char* const name = case_feature_name(feature);
    if (includes(without, feature)) {
      return Status::invalid_input(
          fmt::format("--require: found '{}', which --without leaves out", name));
    }
    const bool has_fp8 = types.empty() || std::ranges::any_of(types, [](const TypePair& pair) {
                           return is_fp8(pair.kv);
                         });
    if (feature == CaseFeature::kScales && !has_fp8)
      return Status::invalid_input("--require: scales: expected an fp8 cache in --type");
    if (feature == CaseFeature::kNegativeScale && scale != ScaleValues::kAny) {
      return Status::invalid_input(fmt::format(
          "--require: negative-scale: expected --scale any, found {}", scale_values_name(scale)));
    }
  }
  if (has_sinks_of_q_type && includes(without, CaseFeature::kSinks))
    return Status::invalid_input("--sinks-type: found q, but --without leaves sinks out");
  if (!has_scales_of_heads && includes(without, CaseFeature::kScales))
    return Status::invalid_input("--scales: found tensor, but --without leaves scales out");
  for (const std::int64_t dim : head_dims) {
    if (dim % head_dim_multiple == 0) continue;
    return Status::invalid_input(
        fmt::format("--head-dim: found {}; expected multiples of {}, of --head-dim-multiple", dim,
                    head_dim_multiple));
  }
  return Status::ok();
}

void CaseDemands::narrow(CaseDomain& domain) const {
  restrict_to(types, domain.types);
  restrict_to(layouts, domain.layouts);
  restrict_to(head_dims, domain.head_dims);
  restrict_to(groups, domain.groups);
  restrict_to(block_sizes, domain.block_sizes);
  std::erase_if(domain.head_dims,
                [this](std::int64_t dim) { return dim % head_dim_multiple != 0; });
  if (domain.head_dims.empty()) domain.head_dims = {head_dim_multiple, 2 * head_dim_multiple};
  if (has_equal_head_dims || !head_dims.empty()) domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  const std::pair<CaseFeature, bool CaseDomain::*> flags[] = {
      {CaseFeature::kSoftcap, &CaseDomain::has_softcap},
      {CaseFeature::kWindow, &CaseDomain::has_window},
      {CaseFeature::kAlibi, &CaseDomain::has_alibi},
      {CaseFeature::kSinks, &CaseDomain::has_sinks},
      {CaseFeature::kScales, &CaseDomain::has_scales},
      {CaseFeature::kNonCausal, &CaseDomain::has_non_causal},
      {CaseFeature::kNegativeScale, &CaseDomain::has_negative_scale},
      {CaseFeature::kEmpty, &CaseDomain::has_empty},
      {CaseFeature::kRowsBeyondContext, &CaseDomain::has_rows_beyond_context},
      {CaseFeature::kPadding, &CaseDomain::has_padding}};
  for (const auto& [feature, flag] : flags)
    if (includes(without, feature)) domain.*flag = false;
  domain.required = require;
  const auto is_beyond = [](RowsKind rows) { return rows == RowsKind::kBeyondContext; };
  if (!domain.has_rows_beyond_context && !std::ranges::all_of(domain.rows, is_beyond))
    std::erase_if(domain.rows, is_beyond);
  std::erase_if(domain.poisons, [this](Poison each) { return limited(each, poison) != each; });
  domain.tails = tails;
  domain.scale_values = scale;
  if (scale != ScaleValues::kAny) domain.has_negative_scale = domain.has_far_scores = false;
  domain.has_sinks_of_q_type = has_sinks_of_q_type;
  domain.has_scales_of_heads = domain.has_scales_of_heads && has_scales_of_heads;
}

bool CaseDemands::are_met_by(const CaseSpec& spec) const {
  const auto has = [&spec](CaseFeature feature) { return has_feature(spec, feature); };
  return std::ranges::none_of(without, has) && std::ranges::all_of(require, has);
}

std::optional<std::string> CaseDemands::why_left_out(ElementType q_type,
                                                     const PagedKvView& kv) const {
  const auto left_out = [](const char* what) {
    return std::optional<std::string>(std::string(what) + " that the filter leaves out");
  };
  if (!admits(types, TypePair{q_type, kv.k.type})) return left_out("types");
  if (!admits(layouts, kv.k.layout)) return left_out("a layout");
  for (const std::int64_t dim : {kv.k.head_dim, kv.v.head_dim})
    if (!admits(head_dims, dim) || dim % head_dim_multiple != 0) return left_out("head dims");
  const bool are_equal = kv.k.head_dim == kv.v.head_dim;
  if (!are_equal && (has_equal_head_dims || !head_dims.empty()))
    return left_out("unequal head dims");
  if (!admits(block_sizes, kv.k.block_size)) return left_out("a block size");
  for (const KvTensorView* cache : {&kv.k, &kv.v})
    if (!has_scales_of_heads && cache->scale.kind == ScaleKind::kPerKvHead)
      return left_out("scales of heads");
  return std::nullopt;
}

std::optional<std::string> CaseDemands::why_left_out(const PagedAttentionInputs& inputs) const {
  if (auto why = why_left_out(inputs.q.type, inputs.kv)) return why;
  if (!admits(groups, inputs.q.num_heads / inputs.kv.k.num_kv_heads))
    return "a group that the filter leaves out";
  for (const CaseFeature feature : without) {
    if (!has_feature(inputs, feature)) continue;
    return fmt::format("{}, left out by the filter", case_feature_name(feature));
  }
  const float factor = inputs.options.scale;
  if (scale_among(scale, factor, inputs.kv.k.head_dim) != factor)
    return fmt::format("a scale that is not {}", scale_values_name(scale));
  const auto is_of_q = [&](float sink) { return is_exact(sink, inputs.q.type); };
  if (has_sinks_of_q_type && !std::ranges::all_of(inputs.options.sinks, is_of_q))
    return "sinks that q's type does not have";
  return std::nullopt;
}

std::optional<std::string> CaseDemands::why_left_out(const KvWriteInputs& inputs) const {
  const PagedKvView kv = {.k = as_const(inputs.kv.k), .v = as_const(inputs.kv.v)};
  if (auto why = why_left_out(inputs.k.type, kv)) return why;
  const bool has_scales =
      kv.k.scale.kind != ScaleKind::kNone || kv.v.scale.kind != ScaleKind::kNone;
  if (has_scales && includes(without, CaseFeature::kScales))
    return "scales, left out by the filter";
  if (!includes(without, CaseFeature::kPadding)) return std::nullopt;
  const PagedAttentionInputs as_attention = {.q = inputs.k, .kv = kv};
  const PagedAttentionInputs of_v = {.q = inputs.v, .kv = kv};
  if (has_feature(as_attention, CaseFeature::kPadding) || has_feature(of_v, CaseFeature::kPadding))
    return "padding, left out by the filter";
  return std::nullopt;
}

}  // namespace recto::verify
