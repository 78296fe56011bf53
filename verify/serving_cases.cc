#include "verify/serving_cases.h"

#include <algorithm>
#include <utility>

namespace recto::verify {
namespace {

// Lengths on both sides of these are drawn more often: kernels split or switch methods there.
const std::vector<std::int64_t> kThresholds = {64, 256, 512, 1024};

DrawnCases kind_named(const char* name, std::int64_t context_max) {
  DrawnCases kind{.name = name, .count = 1};
  kind.domain.head_dims = {64, 128, 256};
  kind.domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  // Sizes beyond 256 more often: a fault there shows only in contexts that cross so many tokens.
  kind.domain.block_sizes = {16, 32, 64, 128, 256, 272, 512, 512};
  kind.domain.tile_sizes = kThresholds;
  kind.domain.lengths = Lengths::kSkewed;
  // Equal numbers hide which of them was read, and one of these cases costs as much as many small
  // ones.
  std::erase(kind.domain.families, FloatFamily::kOnes);
  kind.domain.num_seqs_max = 2;
  kind.domain.num_kv_heads_max = 2;
  kind.domain.num_rows_max = 3;
  kind.domain.context_max = context_max;
  return kind;
}

DrawnCases long_context(std::int64_t context_max) {
  DrawnCases kind = kind_named("long-context", context_max);
  kind.domain.groups = {1, 1, 4, 6, 8, 12};
  kind.domain.num_seqs_min = 2;
  kind.domain.num_kv_heads_max = 1;
  kind.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kChunk};
  kind.domain.first_context_min = 513;
  return kind;
}

DrawnCases many_sequences() {
  DrawnCases kind = kind_named("many-sequences", 640);
  kind.domain.head_dims = {64, 128};
  kind.domain.groups = {1, 4, 5};
  kind.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kMixed};
  kind.domain.num_seqs_min = 33;
  kind.domain.num_seqs_max = 72;
  return kind;
}

// Query heads over KV heads of models: 32 over 32, 64 over 8, 128 over 8 or 16.
DrawnCases many_heads() {
  DrawnCases kind = kind_named("many-heads", 288);
  kind.domain.head_dims = {64, 128};
  kind.domain.groups = {1, 4, 6, 8, 12, 16};
  kind.domain.num_kv_heads_min = 5;
  kind.domain.num_kv_heads_max = 32;
  kind.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kChunk};
  kind.domain.first_context_min = 33;
  return kind;
}

DrawnCases long_prompt() {
  DrawnCases kind = kind_named("long-prompt", 384);
  kind.domain.head_dims = {64, 128};
  kind.domain.groups = {1, 2};
  kind.domain.num_seqs_max = 1;
  kind.domain.num_rows_max = 256;
  kind.domain.rows = {RowsKind::kChunk, RowsKind::kPrefill};
  kind.domain.first_rows_min = 128;
  return kind;
}

DrawnCases serving_batch() {
  DrawnCases kind = many_sequences();
  kind.name = "serving-batch";
  kind.domain.head_dims = {128};
  kind.domain.groups = {4, 4, 8, 12, 16};
  kind.domain.num_kv_heads_min = kind.domain.num_kv_heads_max = 8;
  kind.domain.num_seqs_max = 40;
  kind.domain.context_max = 520;
  // With larger blocks, one per sequence and 8 heads, nearly all of the time would go into filling
  // the pool.
  kind.domain.block_sizes = {16, 32, 64, 128, 256};
  return kind;
}

// Query heads over KV heads of models: 48, 64 or 71 over one, and 128 over one where the keys of
// all heads are one latent.
DrawnCases wide_groups(const SizeLimits& limits) {
  DrawnCases kind = kind_named("wide-groups", 800);
  kind.domain.head_dims = {64, 128};
  kind.domain.groups = {16, 24, 32, 48, 64, 64, 71, 128};
  if (limits.num_q_heads_max > 128) kind.domain.groups.push_back(limits.num_q_heads_max);
  kind.domain.num_seqs_min = 2;
  kind.domain.num_seqs_max = 3;
  kind.domain.num_kv_heads_max = 1;
  kind.domain.num_rows_max = 2;
  kind.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kChunk};
  return kind;
}

DrawnCases short_sequences(const SizeLimits& limits) {
  DrawnCases kind = kind_named("short-sequences", 40);
  kind.domain.head_dims = {64};
  kind.domain.groups = {1, 4, 9};
  kind.domain.block_sizes = {8, 16, 32};
  kind.domain.tile_sizes = {8, 32};
  kind.domain.lengths = Lengths::kAlike;
  kind.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kMixed};
  kind.domain.num_kv_heads_max = 1;
  kind.domain.num_seqs_min = 129;
  kind.domain.num_seqs_max = std::max<std::int64_t>(129, limits.num_seqs_max);
  return kind;
}

}  // namespace

std::vector<DrawnCases> serving_cases(const SizeLimits& limits) {
  std::vector<DrawnCases> kinds = {long_context(limits.context_max),
                                   wide_groups(limits),
                                   many_sequences(),
                                   many_heads(),
                                   long_prompt(),
                                   short_sequences(limits),
                                   serving_batch()};
  for (DrawnCases& kind : kinds) kind.domain = within(limits, std::move(kind.domain));
  return kinds;
}

CaseDomain within(const SizeLimits& limits, CaseDomain domain) {
  const auto lower = [](std::int64_t& size, std::int64_t limit) { size = std::min(size, limit); };
  lower(domain.context_max, limits.context_max);
  lower(domain.first_context_min, limits.context_max);
  lower(domain.first_rows_min, limits.context_max - 1);
  lower(domain.num_seqs_max, limits.num_seqs_max);
  lower(domain.num_seqs_min, limits.num_seqs_max);
  const std::int64_t q_heads_max = limits.num_q_heads_max;
  domain.num_q_heads_max = std::min(domain.num_q_heads_max.value_or(q_heads_max), q_heads_max);
  std::erase_if(domain.groups, [&](std::int64_t group) { return group > q_heads_max; });
  if (domain.groups.empty()) domain.groups = {q_heads_max};
  return domain;
}

CaseSpec with_longest_last(CaseSpec spec) {
  const auto longest = std::ranges::max_element(spec.sequences, {}, &SequenceSpec::context_length);
  if (longest != spec.sequences.end()) std::swap(*longest, spec.sequences.back());
  spec.placement.table_padding = std::max<std::int64_t>(1, spec.placement.table_padding);
  return spec;
}

CaseSpec small_likeness(CaseSpec spec) {
  constexpr std::size_t kSequences = 2;
  constexpr std::int64_t kContext = 9;
  constexpr std::int64_t kRows = 3;
  spec.sequences.resize(std::min(kSequences, spec.sequences.size()));
  for (SequenceSpec& sequence : spec.sequences) {
    sequence.context_length = std::min(kContext, sequence.context_length);
    sequence.num_rows = std::min(kRows, sequence.num_rows);
  }
  spec.shared_prefix = std::min(spec.shared_prefix, spec.longest_context());
  return spec;
}

}  // namespace recto::verify
