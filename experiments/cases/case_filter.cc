#include "experiments/cases/case_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/dense_kv_view.h"
#include "experiments/cases/operation_cases.h"
#include "experiments/support/numbers.h"
#include "verify/cases/case_json.h"
#include "verify/drawn_cases.h"
#include "verify/library/kernel_library_report.h"

namespace recto::experiments {
namespace {

using verify::CaseDomain;
using verify::CaseOperation;
using verify::TypePair;

constexpr std::int64_t kCasesMax = 10'000;
constexpr std::int64_t kContextMax = 4096;
constexpr std::int64_t kSequencesMax = 1024;
constexpr std::int64_t kRowsMax = 1024;
constexpr std::int64_t kQHeadsMax = 1024;
constexpr std::int64_t kSizeMax = 1024;  // of a head, a group, a block

constexpr std::array<KvLayout, 3> kLayouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor,
                                              KvLayout::kPacked};

// "bf16" if both are the same, else "bf16/e4m3".
std::string type_pair_name(const TypePair& types) {
  if (types.q == types.kv) return element_type_name(types.q);
  return fmt::format("{}/{}", element_type_name(types.q), element_type_name(types.kv));
}

Status unknown(const char* flag, const std::string& item, const std::string& expected) {
  return Status::invalid_input(fmt::format("{}: found '{}'; expected {}", flag, item, expected));
}

// The values of `known` that the list names, in its order; `otherwise` for an empty list.
template <typename T, typename Known, typename NameOf>
Result<std::vector<T>> chosen(const char* flag, const std::string& list, const Known& known,
                              const NameOf& name_of) {
  if (list.empty()) return std::vector<T>(known.begin(), known.end());
  const auto items = split_list(list);
  RECTO_RETURN_IF_ERROR(items.status().in(flag));
  std::string names;
  for (const T& each : known) names += (names.empty() ? "" : ", ") + std::string(name_of(each));
  std::vector<T> result;
  for (const std::string& item : items.value()) {
    const auto found =
        std::ranges::find_if(known, [&](const T& each) { return item == name_of(each); });
    if (found == known.end()) return unknown(flag, item, "one of " + names);
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

Status leave_out(const std::string& list, CaseDomain& domain) {
  if (list.empty()) return Status::ok();
  const std::map<std::string, bool CaseDomain::*> known = {
      {"softcap", &CaseDomain::has_softcap}, {"window", &CaseDomain::has_window},
      {"alibi", &CaseDomain::has_alibi},     {"sinks", &CaseDomain::has_sinks},
      {"scales", &CaseDomain::has_scales},   {"non-causal", &CaseDomain::has_non_causal}};
  const auto items = split_list(list);
  RECTO_RETURN_IF_ERROR(items.status().in("--without"));
  for (const std::string& item : items.value()) {
    const auto found = known.find(item);
    if (found == known.end()) {
      return unknown("--without", item, "softcap, window, alibi, sinks, scales or non-causal");
    }
    domain.*found->second = false;
  }
  return Status::ok();
}

// The generators would round such a head dim up.
Status check_packs(const CaseDomain& domain) {
  if (std::ranges::find(domain.layouts, KvLayout::kPacked) == domain.layouts.end())
    return Status::ok();
  for (const TypePair& types : domain.types) {
    for (const std::int64_t dim : domain.head_dims) {
      if (dim % packed_width_k(types.kv) == 0) continue;
      return Status::invalid_input(
          fmt::format("--head-dim: found {}; expected multiples of {} for --layout packed of {}",
                      dim, packed_width_k(types.kv), element_type_name(types.kv)));
    }
  }
  return Status::ok();
}

// Narrows the domain of a set to what the flags say.
Status narrow(const CaseFilter& filter, CaseDomain& domain) {
  const auto types = chosen<TypePair>("--type", filter.types, verify::kTypePairs, type_pair_name);
  RECTO_RETURN_IF_ERROR(types.status());
  const auto layouts = chosen<KvLayout>("--layout", filter.layouts, kLayouts, kv_layout_name);
  RECTO_RETURN_IF_ERROR(layouts.status());
  domain.types = types.value();
  domain.layouts = layouts.value();
  RECTO_RETURN_IF_ERROR(read_sizes("--head-dim", filter.head_dims, domain.head_dims));
  RECTO_RETURN_IF_ERROR(read_sizes("--group", filter.groups, domain.groups));
  RECTO_RETURN_IF_ERROR(read_sizes("--block-size", filter.block_sizes, domain.block_sizes));
  RECTO_RETURN_IF_ERROR(leave_out(filter.without, domain));
  if (!filter.head_dims.empty()) {
    domain.value_head_dim = verify::ValueHeadDim::kSameAsKeys;
    RECTO_RETURN_IF_ERROR(check_packs(domain));
  }
  verify::SizeLimits limits = filter.limits;
  // Requested groups are drawn.
  if (!filter.groups.empty())
    limits.num_q_heads_max = std::max(limits.num_q_heads_max, std::ranges::max(domain.groups));
  domain = within(limits, std::move(domain));
  domain.has_padding = false;  // arrays have no gaps
  return Status::ok();
}

// Keeps the sizes that both lists have; if there are none, keeps `wished` unchanged.
void keep_common(const std::vector<std::int64_t>& of_kind, std::vector<std::int64_t>& wished) {
  std::vector<std::int64_t> both;
  for (const std::int64_t size : of_kind)
    if (std::ranges::find(wished, size) != wished.end()) both.push_back(size);
  if (!both.empty()) wished = std::move(both);
}

// The same for a kind of serving size, which keeps its large sizes if the flags allow it.
Status narrow(const CaseFilter& filter, verify::ServingKind& kind) {
  const CaseDomain own = kind.cases.domain;
  CaseDomain& domain = kind.cases.domain;
  RECTO_RETURN_IF_ERROR(narrow(filter, domain));
  keep_common(own.head_dims, domain.head_dims);
  keep_common(own.groups, domain.groups);
  keep_common(own.block_sizes, domain.block_sizes);
  return Status::ok();
}

Result<std::vector<OperationCases>> operation_cases(const CaseFilter& filter,
                                                    const std::vector<CaseOperation>& operations) {
  std::vector<verify::DrawnCases> sets = verify::library_cases(1);
  sets.push_back(verify::chunk_cases(1));
  for (verify::DrawnCases& set : sets) {
    set.seed = filter.seed;
    RECTO_RETURN_IF_ERROR(narrow(filter, set.domain));
  }
  std::vector<verify::ServingKind> kinds = verify::serving_kinds(filter.limits);
  for (verify::ServingKind& kind : kinds) {
    kind.cases.seed = filter.seed;
    RECTO_RETURN_IF_ERROR(narrow(filter, kind));
  }
  std::vector<OperationCases> drawn;
  for (const CaseOperation operation : operations) drawn.emplace_back(operation, sets, kinds);
  return drawn;
}

}  // namespace

void add_filter_flags(Command& command, CaseFilter& filter) {
  command.add("--cases N", integer(filter.cases, {1, kCasesMax}), "cases to draw [24]");
  command.add("--seed N", integer(filter.seed), "seed of the cases [2026]");
  // An empty list would stand for the default.
  const auto add_list = [&command](const char* names, std::string& list, const char* about) {
    command.add(names, nonempty_text(list, "a list"), about);
  };
  add_list("--op LIST", filter.operations, "operations: decode, prefill and kv_write [all]");
  add_list("--type LIST", filter.types,
           "types of q and K/V: fp32, fp16, bf16, fp16/e4m3, ... [all]");
  add_list("--layout LIST", filter.layouts,
           "layouts: token-major, head-major and packed [token-major]");
  add_list("--head-dim LIST", filter.head_dims, "of both K and V [small ones, and from 40 to 256]");
  add_list("--group LIST", filter.groups, "query heads per KV head [1 to 8, and some to 71]");
  add_list("--block-size LIST", filter.block_sizes, "tokens per block [small ones, and 16,32,64]");
  add_list("--without LIST", filter.without,
           "softcap, window, alibi, sinks, scales, non-causal [none]");
  const auto add_limit = [&command](const char* names, std::int64_t& limit, const char* about,
                                    std::int64_t most) {
    command.add(names, integer(limit, {1, most}), fmt::format("{} [{}]", about, limit));
  };
  verify::SizeLimits& limits = filter.limits;
  add_limit("--context-max N", limits.context_max, "longest context, tokens", kContextMax);
  add_limit("--sequences-max N", limits.num_seqs_max, "most sequences per batch", kSequencesMax);
  add_limit("--rows-max N", limits.num_rows_max, "most query rows per sequence", kRowsMax);
  add_limit("--q-heads-max N", limits.num_q_heads_max, "most query heads", kQHeadsMax);
}

Json filter_json(const CaseFilter& filter) {
  return {{"cases", filter.cases},
          {"op", filter.operations},
          {"type", filter.types},
          {"layout", filter.layouts},
          {"head_dim", filter.head_dims},
          {"group", filter.groups},
          {"block_size", filter.block_sizes},
          {"without", filter.without},
          {"context_max", filter.limits.context_max},
          {"sequences_max", filter.limits.num_seqs_max},
          {"rows_max", filter.limits.num_rows_max},
          {"q_heads_max", filter.limits.num_q_heads_max}};
}

Result<std::vector<CaseFile>> draw_case_files(const CaseFilter& filter) {
  const auto operations = chosen<CaseOperation>("--op", filter.operations, verify::kCaseOperations,
                                                verify::case_operation_name);
  RECTO_RETURN_IF_ERROR(operations.status());
  Result<std::vector<OperationCases>> drawn = operation_cases(filter, operations.value());
  RECTO_RETURN_IF_ERROR(drawn.status());
  std::map<CaseOperation, int> named;
  std::vector<CaseFile> files;
  double bytes = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(filter.cases); ++i) {
    const CaseOperation operation = operations.value()[i % operations.value().size()];
    auto spec = drawn.value()[i % operations.value().size()].next();
    RECTO_RETURN_IF_ERROR(spec.status());
    if (case_numbers(spec.value()) > verify::kCaseNumbersMax) {
      return Status::invalid_input(
          fmt::format("--context-max, --head-dim, --group: expected sizes that make cases of at "
                      "most {:.3g} numbers, found one of {:.3g}",
                      verify::kCaseNumbersMax, case_numbers(spec.value())));
    }
    bytes += bytes_of(spec.value());
    if (bytes > kCaseBytesMax) {
      return Status::invalid_input(fmt::format(
          "--cases: found {}; the first {} take 4 GiB already; expected fewer, or smaller ones",
          filter.cases, i + 1));
    }
    files.push_back(
        {.name = fmt::format("{}-{:02}", case_operation_name(operation), ++named[operation]),
         .operation = operation,
         .spec = std::move(spec).value()});
  }
  return files;
}

}  // namespace recto::experiments
