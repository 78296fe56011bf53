#include "cuda/instantiations.h"

#include <kernel_dialect.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/refusal.h"
#include "cuda/kernels/bulk_decode.h"
#include "cuda/kernels/group_decode.h"
#include "cuda/kernels/paged_prefill.h"

namespace recto {
namespace {

struct Instantiation {
  ElementType q_type;
  ElementType kv_type;
  std::int64_t head_dim;
};

template <typename Params>
std::vector<Instantiation> rows_of(const kernels::KernelTable<Params>& table) {
  std::vector<Instantiation> rows;
  for (const auto& entry : table) rows.push_back({entry.q_type, entry.kv_type, entry.head_dim});
  return rows;
}

// Of the plain kernels, which are instantiated for types alone: nothing.
std::vector<Instantiation> instantiations(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kPlainDecode:
      return {};
    case AttentionKernel::kGroupDecode:
      return rows_of(kernels::group_decode_table());
    case AttentionKernel::kBulkDecode:
      return rows_of(kernels::bulk_decode_table());
    case AttentionKernel::kPrefill:
      return rows_of(kernels::paged_prefill_table());
  }
  return {};
}

std::string types_text(ElementType q, ElementType kv) {
  return std::string(element_type_name(q)) + "/" + element_type_name(kv);
}

// Types, and the head dims there are for them.
using DimsOfTypes = std::map<std::pair<ElementType, ElementType>, std::string>;

DimsOfTypes dims_of_types(const std::vector<Instantiation>& rows) {
  DimsOfTypes dims;
  for (const Instantiation& row : rows) {
    std::string& text = dims[{row.q_type, row.kv_type}];
    text += (text.empty() ? "" : ", ") + std::to_string(row.head_dim);
  }
  return dims;
}

}  // namespace

Status check_instantiated(AttentionKernel kernel, const PagedAttentionInputs& inputs) {
  if (kernel == AttentionKernel::kPlainDecode) return Status::ok();
  const ElementType q = inputs.q.type;
  const ElementType kv = inputs.kv.k.type;
  const std::int64_t head_dim = inputs.kv.k.head_dim;
  const std::vector<Instantiation> rows = instantiations(kernel);
  const auto serves = [&](const Instantiation& row) {
    return row.q_type == q && row.kv_type == kv && row.head_dim == head_dim;
  };
  if (std::ranges::any_of(rows, serves)) return Status::ok();
  std::string served;
  for (const auto& [types, dims] : dims_of_types(rows)) {
    served +=
        (served.empty() ? "" : "; ") + types_text(types.first, types.second) + " with " + dims;
  }
  if (served.empty()) served = "a build for sm_90 or later cards";
  return refusal("q.type, kv.k.type, kv.k.head_dim", served,
                 types_text(q, kv) + " with " + std::to_string(head_dim))
      .in(attention_kernel_name(kernel));
}

std::string instantiation_table() {
  std::string table = "| kernel | q / cache | head dims |\n|---|---|---|\n";
  const auto add = [&table](const char* kernel, const std::string& types, const std::string& dims) {
    table += std::string("| ") + kernel + " | " + types + " | " + dims + " |\n";
  };
  for (const AttentionKernel kernel : {AttentionKernel::kPlainDecode, AttentionKernel::kGroupDecode,
                                       AttentionKernel::kBulkDecode, AttentionKernel::kPrefill}) {
    const char* name = attention_kernel_name(kernel);
    if (kernel == AttentionKernel::kPlainDecode) {
      add(name, "fp32/fp32, fp16/fp16, bf16/bf16, {fp16, bf16}/{e4m3, e5m2}",
          "1 to 256, K's and V's apart");
    }
    for (const auto& [types, dims] : dims_of_types(instantiations(kernel))) {
      add(name, types_text(types.first, types.second), dims);
    }
  }
  return table;
}

}  // namespace recto
