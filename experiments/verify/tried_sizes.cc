#include "experiments/verify/tried_sizes.h"

#include <fmt/format.h>

#include <algorithm>

namespace recto::experiments {

void TriedSizes::Range::add(std::int64_t value) { add({.min = value, .max = value}); }

void TriedSizes::Range::add(const Range& other) {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

void TriedSizes::add(const verify::LawCase& law_case) {
  const verify::ProblemShape& shape = law_case.problem.shape;
  for (const verify::SequenceProblem& sequence : law_case.problem.sequences) {
    ranges_[kContext].add(sequence.context_length);
    ranges_[kRows].add(sequence.num_rows);
  }
  ranges_[kSequences].add(std::ssize(law_case.problem.sequences));
  ranges_[kQHeads].add(shape.num_q_heads);
  ranges_[kKvHeads].add(shape.num_kv_heads);
  head_dims_.insert(shape.head_dim_k);
  head_dims_.insert(shape.head_dim_v);
  groups_.insert(shape.group());
  block_sizes_.insert(law_case.placement.block_size);
  types_.insert(
      fmt::format("{}/{}", element_type_name(shape.q_type), element_type_name(shape.kv_type)));
  layouts_.insert(kv_layout_name(law_case.placement.layout));
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
    text +=
        fmt::format("{}{} {}-{}", i == 0 ? "" : ", ", kNames[i], ranges_[i].min, ranges_[i].max);
  }
  const auto list = [](const auto& values) { return fmt::format("{}", fmt::join(values, " ")); };
  text += fmt::format(",\n{0}head dims {1},\n{0}groups {2},\n{0}block sizes {3}", indent,
                      list(head_dims_), list(groups_), list(block_sizes_));
  return text + fmt::format(",\n{}types {}, layouts {}", indent, list(types_), list(layouts_));
}

nlohmann::ordered_json TriedSizes::json() const {
  nlohmann::ordered_json json;
  for (std::size_t i = 0; i < std::size(ranges_); ++i)
    json[kNames[i]] = {ranges_[i].min, ranges_[i].max};
  json["head dims"] = head_dims_;
  json["groups"] = groups_;
  json["block sizes"] = block_sizes_;
  json["types"] = types_;
  json["layouts"] = layouts_;
  return json;
}

}  // namespace recto::experiments
