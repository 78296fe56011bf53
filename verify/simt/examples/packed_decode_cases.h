#pragma once

// The cases on which the example is tested.

#include "verify/cases/case_generator.h"

namespace recto::verify {

// The cases that the extension supports.
inline CaseDomain packed_domain(const TypePair& types) {
  CaseDomain domain;
  domain.types = {types};
  domain.layouts = {KvLayout::kPacked};
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {64, 128};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.groups = {1, 2, 4};
  domain.block_sizes = {8, 16, 32};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.context_max = 200;
  domain.has_softcap = domain.has_window = domain.has_alibi = domain.has_sinks = false;
  domain.has_padding = false;
  return domain;
}

inline constexpr TypePair kFloat = {ElementType::kFp32, ElementType::kFp32};
inline constexpr TypePair kHalf = {ElementType::kFp16, ElementType::kFp16};

}  // namespace recto::verify
