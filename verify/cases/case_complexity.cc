// Measures how far a case is from a plain one.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "verify/cases/case_shrinker.h"

namespace recto::verify {
namespace {

template <typename Enum>
std::int64_t rank_of(Enum value) {
  return static_cast<std::int64_t>(value);
}

std::int64_t type_rank(const TypePair& types) {
  return std::ranges::find(kTypePairs, types) - kTypePairs.begin();
}

std::int64_t options_complexity(const OptionsSpec& options) {
  return (options.scale != 1.0F) + (options.scale < 0.0F) + (options.softcap != 0.0F) +
         !options.causal + (options.window ? 1 + *options.window : 0) + rank_of(options.alibi) +
         rank_of(options.sinks) + rank_of(options.k_scales) + rank_of(options.v_scales);
}

std::int64_t gaps_complexity(const Gaps& gaps) {
  std::int64_t total = 0;
  for (const GapField& field : kGapFields) total += gaps.*field.gap;
  return total;
}

std::int64_t placement_complexity(const Placement& placement) {
  return rank_of(placement.layout) + placement.block_size + rank_of(placement.order) +
         placement.spare_blocks + placement.block_padding + placement.row_padding +
         gaps_complexity(placement.gaps) + placement.table_padding +
         placement.garbage_beyond_table + placement.shares_prefixes + rank_of(placement.poison) +
         rank_of(placement.poisoned) + (placement.seed != 0);
}

// One row is plainer than none. Ids other than 0, 1, 2 ... cost 1 in total, less than any sequence.
std::int64_t sequences_complexity(const std::vector<SequenceSpec>& sequences) {
  std::int64_t total = 0;
  bool is_numbered = true;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::int64_t num_rows = sequences[i].num_rows;
    total += 2 + (num_rows == 0 ? 2 : num_rows) + sequences[i].context_length;
    is_numbered = is_numbered && sequences[i].id == i;
  }
  return total + !is_numbered;
}

}  // namespace

std::int64_t complexity(const CaseSpec& spec) {
  const ProblemShape& shape = spec.shape;
  const TokenRange varied = spec.tokens_varied();
  return shape.num_q_heads + shape.num_kv_heads + shape.head_dim_k + shape.head_dim_v +
         type_rank(spec.types()) + options_complexity(spec.options) +
         sequences_complexity(spec.sequences) + spec.shared_prefix + rank_of(spec.q) +
         rank_of(spec.k) + rank_of(spec.v) + (varied.end - varied.begin) +
         placement_complexity(spec.placement) + (spec.seed != 0);
}

}  // namespace recto::verify
