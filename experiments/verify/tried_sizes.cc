#include "experiments/verify/tried_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/json.h"

namespace recto::experiments {

void TriedSizes::Range::add(std::int64_t value) { add({.min = value, .max = value}); }

void TriedSizes::Range::add(const Range& other) {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

std::string TriedSizes::Range::text() const {
  return min == max ? fmt::format("{}", min) : fmt::format("{}-{}", min, max);
}

void TriedSizes::add_cache(ElementType type, const PagedKvView& kv) {
  ranges_[kKvHeads].add(kv.k.num_kv_heads);
  head_dims_.insert(kv.k.head_dim);
  head_dims_.insert(kv.v.head_dim);
  block_sizes_.insert(kv.k.block_size);
  types_.insert(fmt::format("{}/{}", element_type_name(type), element_type_name(kv.k.type)));
  layouts_.insert(kv_layout_name(kv.k.layout));
}

void TriedSizes::add(const PagedAttentionInputs& inputs) {
  const std::size_t sequences = inputs.context_length.size();
  for (std::size_t s = 0; s < sequences; ++s) {
    ranges_[kContext].add(inputs.context_length[s]);
    const bool has_one_row = inputs.query_start.empty();
    ranges_[kRows].add(has_one_row ? 1 : inputs.query_start[s + 1] - inputs.query_start[s]);
  }
  ranges_[kSequences].add(static_cast<std::int64_t>(sequences));
  ranges_[kQHeads].add(inputs.q.num_heads);
  groups_.insert(inputs.q.num_heads / inputs.kv.k.num_kv_heads);
  add_cache(inputs.q.type, inputs.kv);
}

void TriedSizes::add(const KvWriteInputs& inputs) {
  ranges_[kTokens].add(inputs.k.num_rows);
  add_cache(inputs.k.type, {.k = as_const(inputs.kv.k), .v = as_const(inputs.kv.v)});
}

void TriedSizes::add_pools(const verify::LawCase& law_case) {
  const verify::ProblemShape& shape = law_case.problem.shape;
  const KvTensorView k{.type = shape.kv_type,
                       .layout = law_case.placement.layout,
                       .block_size = law_case.placement.block_size,
                       .num_kv_heads = shape.num_kv_heads,
                       .head_dim = shape.head_dim_k};
  KvTensorView v = k;
  v.head_dim = shape.head_dim_v;
  add_cache(shape.q_type, {.k = k, .v = v});
}

void TriedSizes::add(const TriedSizes& other) {
  for (std::size_t i = 0; i < std::size(ranges_); ++i) ranges_[i].add(other.ranges_[i]);
  head_dims_.insert(other.head_dims_.begin(), other.head_dims_.end());
  groups_.insert(other.groups_.begin(), other.groups_.end());
  block_sizes_.insert(other.block_sizes_.begin(), other.block_sizes_.end());
  types_.insert(other.types_.begin(), other.types_.end());
  layouts_.insert(other.layouts_.begin(), other.layouts_.end());
}

std::string TriedSizes::text(const std::string& indent) const {
  std::string text;
  for (std::size_t i = 0; i < std::size(ranges_); ++i) {
    if (ranges_[i].is_empty()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kNames[i], ranges_[i].text());
  }
  const auto list = [](const auto& values) { return fmt::format("{}", fmt::join(values, " ")); };
  text += fmt::format(",\n{}head dims {}", indent, list(head_dims_));
  if (!groups_.empty()) text += fmt::format(",\n{}groups {}", indent, list(groups_));
  text += fmt::format(",\n{}block sizes {}", indent, list(block_sizes_));
  return text + fmt::format(",\n{}types {}, layouts {}", indent, list(types_), list(layouts_));
}

Json TriedSizes::json() const {
  Json json;
  for (std::size_t i = 0; i < std::size(ranges_); ++i)
    if (!ranges_[i].is_empty()) json[kNames[i]] = {ranges_[i].min, ranges_[i].max};
  json["head dims"] = head_dims_;
  if (!groups_.empty()) json["groups"] = groups_;
  json["block sizes"] = block_sizes_;
  json["types"] = types_;
  json["layouts"] = layouts_;
  return json;
}

void TriedSizes::add(const Json& told) {
  TriedSizes other;
  for (std::size_t i = 0; i < std::size(ranges_); ++i) {
    const Json* const range = told.find(kNames[i]);
    if (range != nullptr)
      other.ranges_[i] = {(*range)[0].get<std::int64_t>(), (*range)[1].get<std::int64_t>()};
  }
  const auto read = [&told]<typename T>(const char* name, std::set<T>& values) {
    if (!told.contains(name)) return;
    for (const Json& value : told[name]) values.insert(value.get<T>());
  };
  read("head dims", other.head_dims_);
  read("groups", other.groups_);
  read("block sizes", other.block_sizes_);
  read("types", other.types_);
  read("layouts", other.layouts_);
  add(other);
}

verify::Backend observed(verify::Backend backend,
                         const std::function<void(const PagedAttentionInputs&)>& observer) {
  if (!backend.attend) return backend;
  backend.attend = [attend = backend.attend, observer](const PagedAttentionInputs& inputs,
                                                       const verify::CallOptions& options) {
    verify::CallOutcome outcome = attend(inputs, options);
    if (!std::holds_alternative<verify::Unsupported>(outcome)) observer(inputs);
    return outcome;
  };
  return backend;
}

}  // namespace recto::experiments
