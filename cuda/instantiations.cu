#include "cuda/instantiations.h"

#include <kernel_dialect.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/refusal.h"
#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/gather.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_write.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/reference_decode.h"
#include "cuda/kernels/tma_decode.h"

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

// Empty for the plain kernels, which are instantiated by types alone.
std::vector<Instantiation> instantiations(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kReferenceDecode:
      return {};
    case AttentionKernel::kGqaDecode:
      return rows_of(kernels::gqa_decode_table());
    case AttentionKernel::kTmaDecode:
      return rows_of(kernels::tma_decode_table());
    case AttentionKernel::kPrefill:
      return rows_of(kernels::paged_prefill_table());
  }
  return {};
}

std::string types_text(ElementType q, ElementType kv) {
  return std::string(element_type_name(q)) + "/" + element_type_name(kv);
}

// Pairs of types, with the head dims instantiated for them.
using DimsOfTypes = std::map<std::pair<ElementType, ElementType>, std::string>;

DimsOfTypes dims_of_types(const std::vector<Instantiation>& rows) {
  DimsOfTypes dims;
  for (const Instantiation& row : rows) {
    std::string& text = dims[{row.q_type, row.kv_type}];
    text += (text.empty() ? "" : ", ") + std::to_string(row.head_dim);
  }
  return dims;
}

// A cache of a shape that every kernel accepts.
MutablePagedKvView cache_of(ElementType type) {
  const MutableKvTensorView tensor = {
      .type = type, .num_blocks = 1, .block_size = 16, .num_kv_heads = 1, .head_dim = 64};
  return {.k = tensor, .v = tensor};
}

// A kernel that is instantiated by types alone, with its own check of a pair of types.
struct PlainKernel {
  const char* name;
  std::string head_dims;
  Status (*check)(ElementType first, ElementType second);
};

const std::vector<PlainKernel>& plain_kernels() {
  static const std::vector<PlainKernel> kAll = {
      {attention_kernel_name(AttentionKernel::kReferenceDecode),
       "1 to " + std::to_string(kernels::kHeadDimMax) + ", K's and V's apart",
       [](ElementType q, ElementType cached) {
         return kernels::check_served(kernels::ReferenceDecodeParams{
             .q = {.type = q}, .kv = as_const(cache_of(cached)), .out = {.type = q}});
       }},
      {"KV write", "any",
       [](ElementType rows, ElementType cached) {
         return kernels::check_write(
             {.k = {.type = rows}, .v = {.type = rows}, .kv = cache_of(cached)});
       }},
      {"KV append", "any",
       [](ElementType rows, ElementType cached) {
         return kernels::check_append(
             {.k = {.type = rows}, .v = {.type = rows}, .kv = cache_of(cached)});
       }},
      {"gather", "any",
       [](ElementType rows, ElementType cached) {
         return kernels::check_gather(
             {.kv = as_const(cache_of(cached)), .k = {.type = rows}, .v = {.type = rows}});
       }},
      {"block copy, swap", "any", [](ElementType from, ElementType to) {
         return kernels::check_copy({.from = as_const(cache_of(from)), .to = cache_of(to)});
       }}};
  return kAll;
}

std::string served_types(const PlainKernel& kernel) {
  using enum ElementType;
  constexpr ElementType kTypes[] = {kFp32, kFp16, kBf16, kE4m3, kE5m2};
  std::string text;
  for (const ElementType first : kTypes) {
    for (const ElementType second : kTypes) {
      if (!kernel.check(first, second).is_ok()) continue;
      text += (text.empty() ? "" : ", ") + types_text(first, second);
    }
  }
  return text;
}

}  // namespace

Status check_instantiated(AttentionKernel kernel, const PagedAttentionInputs& inputs) {
  if (kernel == AttentionKernel::kReferenceDecode) return Status::ok();
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
  std::string table = "| kernel | q or rows / cache | head dims |\n|---|---|---|\n";
  const auto add = [&table](const char* kernel, const std::string& types, const std::string& dims) {
    table += std::string("| ") + kernel + " | " + types + " | " + dims + " |\n";
  };
  for (const AttentionKernel kernel :
       {AttentionKernel::kGqaDecode, AttentionKernel::kTmaDecode, AttentionKernel::kPrefill}) {
    for (const auto& [types, dims] : dims_of_types(instantiations(kernel))) {
      add(attention_kernel_name(kernel), types_text(types.first, types.second), dims);
    }
  }
  for (const PlainKernel& kernel : plain_kernels()) {
    add(kernel.name, served_types(kernel), kernel.head_dims);
  }
  return table;
}

}  // namespace recto
