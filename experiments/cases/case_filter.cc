#include "experiments/cases/case_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/dense_kv_view.h"
#include "core/refusal.h"
#include "experiments/support/numbers.h"
#include "verify/library/kernel_library_report.h"

namespace recto::experiments {
namespace {

using verify::CaseDemands;
using verify::CaseDomain;
using verify::CaseFeature;
using verify::TypePair;

constexpr std::int64_t kSizeMax = 1024;  // of a head, a group, a block

constexpr std::array<KvLayout, 3> kLayouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor,
                                              KvLayout::kPacked};

Status unknown(const char* flag, const std::string& item, const std::string& expected) {
  return Status::invalid_input(fmt::format("{}: found '{}'; expected {}", flag, item, expected));
}

// The values of `known` that the list names, in its order; none for an empty list.
template <typename T, typename Known, typename NameOf>
Result<std::vector<T>> chosen(const char* flag, const std::string& list, const Known& known,
                              const NameOf& name_of) {
  if (list.empty()) return std::vector<T>{};
  const auto items = split_list(list);
  RECTO_RETURN_IF_ERROR(items.status().in(flag));
  std::vector<T> result;
  for (const std::string& item : items.value()) {
    const auto found =
        std::ranges::find_if(known, [&](const T& each) { return item == name_of(each); });
    if (found == known.end()) return unknown(flag, item, "one of " + list_names(known, name_of));
    result.push_back(*found);
  }
  return result;
}

// Reads sizes from 1 to kSizeMax into `sizes`, unless the list is empty.
Status read_sizes(const char* flag, const std::string& list, std::vector<std::int64_t>& sizes) {
  if (list.empty()) return Status::ok();
  const auto items = split_list(list);
  RECTO_RETURN_IF_ERROR(items.status().in(flag));
  sizes.clear();
  for (const std::string& item : items.value()) {
    const std::optional<std::int64_t> size = number_in<std::int64_t>(item);
    if (!size || *size < 1 || *size > kSizeMax) {
      return unknown(flag, item, fmt::format("integers from 1 to {}", kSizeMax));
    }
    sizes.push_back(*size);
  }
  return Status::ok();
}

// The generators would round other head dims up.
Status check_packs(const CaseDemands& demands) {
  if (std::ranges::find(demands.layouts, KvLayout::kPacked) == demands.layouts.end())
    return Status::ok();
  const std::vector<TypePair> all(verify::kTypePairs.begin(), verify::kTypePairs.end());
  const std::int64_t multiple = demands.head_dim_multiple;
  for (const TypePair& types : demands.types.empty() ? all : demands.types) {
    const std::int64_t pack = packed_width_k(types.kv);
    const std::string packed =
        fmt::format("for --layout packed of {}", element_type_name(types.kv));
    for (const std::int64_t dim : demands.head_dims) {
      if (dim % pack == 0) continue;
      return Status::invalid_input(
          fmt::format("--head-dim: found {}; expected multiples of {} {}", dim, pack, packed));
    }
    // A divisor stays one of what is rounded up.
    if (!demands.head_dims.empty() || multiple % pack == 0 || pack % multiple == 0) continue;
    return Status::invalid_input(
        fmt::format("--head-dim-multiple: found {}; expected a multiple or a divisor of {} {}",
                    multiple, pack, packed));
  }
  return Status::ok();
}

// Keeps the sizes that both lists have; if there are none, keeps `sizes` unchanged.
void keep_common(const std::vector<std::int64_t>& of_kind, std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> both;
  for (const std::int64_t size : of_kind)
    if (std::ranges::find(sizes, size) != sizes.end()) both.push_back(size);
  if (!both.empty()) sizes = std::move(both);
}

template <typename Value, typename Known, typename NameOf>
void read_one(const std::string& name, const Known& known, const NameOf& name_of, Value& value) {
  for (const Value& each : known)
    if (name == name_of(each)) value = each;
}

// The flags' own lists of names were checked as they were parsed.
CaseDemands chosen_words(const CaseFilter& filter) {
  CaseDemands demands;
  demands.head_dim_multiple = filter.head_dim_multiple;
  demands.has_equal_head_dims = filter.has_equal_head_dims;
  read_one(filter.poison, verify::kPoisonLimits, verify::poison_limit_name, demands.poison);
  read_one(filter.tails, verify::kPoisonLimits, verify::poison_limit_name, demands.tails);
  read_one(filter.scale, verify::kScaleValues, verify::scale_values_name, demands.scale);
  demands.has_sinks_of_q_type = filter.sinks_type == "q";
  demands.has_scales_of_heads = filter.scales == "any";
  return demands;
}

template <typename Names, typename NameOf>
std::vector<std::string> names_of(const Names& values, const NameOf& name_of) {
  std::vector<std::string> names;
  for (const auto& value : values) names.emplace_back(name_of(value));
  return names;
}

std::vector<std::string> known_kinds() {
  std::vector<std::string> names = {"small", "model", "heads", "chunks"};
  for (const verify::ServingKind& kind : verify::serving_kinds({})) {
    if (std::ranges::find(names, kind.cases.name) == names.end()) names.push_back(kind.cases.name);
  }
  return names;
}

}  // namespace

std::string type_pair_name(const TypePair& types) {
  if (types.q == types.kv) return element_type_name(types.q);
  return fmt::format("{}/{}", element_type_name(types.q), element_type_name(types.kv));
}

void add_filter_flags(Command& command, CaseFilter& filter, const std::string& layouts) {
  // An empty list would stand for the default.
  const auto add_list = [&command](const char* names, std::string& list, const std::string& about) {
    command.add(names, nonempty_text(list, "a list"), about);
  };
  add_list("--type LIST", filter.types,
           "types of q and K/V: fp32, fp16, bf16, fp16/e4m3, ... [all]");
  add_list("--layout LIST", filter.layouts,
           "layouts: token-major, head-major and packed [" + layouts + "]");
  add_list("--head-dim LIST", filter.head_dims, "of both K and V [small ones, and from 40 to 256]");
  command.add("--head-dim-multiple N", integer(filter.head_dim_multiple, {1, kSizeMax}),
              "head dims that are multiples of N [1]");
  command.add("--equal-head-dims", flag(filter.has_equal_head_dims),
              "K and V have the same head dim");
  add_list("--group LIST", filter.groups, "query heads per KV head [1 to 8, and some to 71]");
  add_list("--block-size LIST", filter.block_sizes, "tokens per block [small ones, and 16,32,64]");
  add_list("--without LIST", filter.without,
           "softcap, window, alibi, sinks, scales, non-causal,\nnegative-scale, empty, "
           "rows-beyond-context, padding [none]");
  add_list("--require LIST", filter.require, "such that each case has, all of them [none]");
  const auto limits = names_of(verify::kPoisonLimits, verify::poison_limit_name);
  command.add("--poison KIND", one_of(filter.poison, limits),
              "in unaddressed slots: none (zeros), finite or any [any]");
  command.add("--tails KIND", one_of(filter.tails, limits),
              "the same behind a context, in its last block [any]");
  command.add("--sinks-type TYPE", one_of(filter.sinks_type, {"fp32", "q"}),
              "sinks are exact in fp32, or in q's type [fp32]");
  command.add("--scale KIND",
              one_of(filter.scale, names_of(verify::kScaleValues, verify::scale_values_name)),
              "of scores: any, unit (1), usual (1 / sqrt(head dim))\nor power-of-two [any]");
  command.add("--scales KIND", one_of(filter.scales, {"any", "tensor"}),
              "of fp8 caches: any, or only one per tensor [any]");
  add_list("--kinds LIST", filter.kinds, "small, model, heads, chunks, long-context, ... [all]");
}

Result<CaseDemands> demands_of(const CaseFilter& filter) {
  CaseDemands demands = chosen_words(filter);
  const auto types = chosen<TypePair>("--type", filter.types, verify::kTypePairs, type_pair_name);
  RECTO_RETURN_IF_ERROR(types.status());
  const auto layouts = chosen<KvLayout>("--layout", filter.layouts, kLayouts, kv_layout_name);
  RECTO_RETURN_IF_ERROR(layouts.status());
  const auto without = chosen<CaseFeature>("--without", filter.without, verify::kCaseFeatures,
                                           verify::case_feature_name);
  RECTO_RETURN_IF_ERROR(without.status());
  const auto require = chosen<CaseFeature>("--require", filter.require, verify::kCaseFeatures,
                                           verify::case_feature_name);
  RECTO_RETURN_IF_ERROR(require.status());
  demands.types = types.value();
  demands.layouts = layouts.value();
  demands.without = without.value();
  demands.require = require.value();
  RECTO_RETURN_IF_ERROR(read_sizes("--head-dim", filter.head_dims, demands.head_dims));
  RECTO_RETURN_IF_ERROR(read_sizes("--group", filter.groups, demands.groups));
  RECTO_RETURN_IF_ERROR(read_sizes("--block-size", filter.block_sizes, demands.block_sizes));
  for (const std::int64_t size : demands.block_sizes) {
    if (verify::is_block_size(size)) continue;
    return unknown("--block-size", std::to_string(size), "powers of two and multiples of 16");
  }
  RECTO_RETURN_IF_ERROR(check_packs(demands));
  RECTO_RETURN_IF_ERROR(demands.check());
  return demands;
}

Result<std::vector<std::string>> kinds_of(const CaseFilter& filter) {
  return chosen<std::string>("--kinds", filter.kinds, known_kinds(),
                             [](const std::string& name) { return name; });
}

void narrow(const CaseDemands& demands, const std::vector<std::string>& kinds,
            const verify::SizeLimits& limits, CaseSets& sets) {
  const auto is_other = [&kinds](const std::string& name) {
    return !kinds.empty() && std::ranges::find(kinds, name) == kinds.end();
  };
  std::erase_if(sets.small, [&](const auto& set) { return is_other(set.name); });
  std::erase_if(sets.serving, [&](const auto& kind) { return is_other(kind.cases.name); });
  verify::SizeLimits own = limits;
  // Requested groups are drawn.
  if (!demands.groups.empty())
    own.num_q_heads_max = std::max(own.num_q_heads_max, std::ranges::max(demands.groups));
  const auto narrow_domain = [&](CaseDomain& domain) {
    demands.narrow(domain);
    domain = within(own, std::move(domain));
  };
  for (verify::DrawnCases& set : sets.small) narrow_domain(set.domain);
  for (verify::ServingKind& kind : sets.serving) {
    const CaseDomain before = kind.cases.domain;
    CaseDomain& domain = kind.cases.domain;
    narrow_domain(domain);
    keep_common(before.head_dims, domain.head_dims);
    keep_common(before.groups, domain.groups);
    keep_common(before.block_sizes, domain.block_sizes);
  }
  // Without small ones, cases of every kind are drawn as small ones are.
  if (!sets.small.empty()) return;
  for (const verify::ServingKind& kind : sets.serving) sets.small.push_back(kind.cases);
}

Json filter_json(const CaseFilter& filter) {
  Json json = {{"type", filter.types},
               {"layout", filter.layouts},
               {"head_dim", filter.head_dims},
               {"head_dim_multiple", filter.head_dim_multiple},
               {"equal_head_dims", filter.has_equal_head_dims},
               {"group", filter.groups},
               {"block_size", filter.block_sizes},
               {"without", filter.without},
               {"require", filter.require},
               {"poison", filter.poison},
               {"tails", filter.tails},
               {"sinks_type", filter.sinks_type},
               {"scale", filter.scale},
               {"scales", filter.scales},
               {"kinds", filter.kinds}};
  return json;
}

}  // namespace recto::experiments
