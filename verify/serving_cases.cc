#include "verify/serving_cases.h"

#include <algorithm>
#include <utility>

namespace recto::verify {
namespace {

// Both sides of it are drawn more often than others: kernels split, or change their ways, there.
const std::vector<std::int64_t> kThresholds = {64, 256, 512, 1024};

DrawnCases kind_named(const char* name, std::int64_t context_max) {
  DrawnCases kind{.name = name, .count = 1};
  kind.domain.head_dims = {64, 128, 256};
  kind.domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  kind.domain.block_sizes = {16, 32, 64, 128, 256};
  kind.domain.tile_sizes = kThresholds;
  kind.domain.lengths = Lengths::kSkewed;
  // Equal numbers hide which of them was read, and one case of these costs as much as many small.
  std::erase(kind.domain.families, FloatFamily::kOnes);
  kind.domain.num_seqs_max = 2;
  kind.domain.num_kv_heads_max = 2;
  kind.domain.num_rows_max = 3;
  kind.domain.context_max = context_max;
  return kind;
}

DrawnCases long_context(std::int64_t context_max) {
  DrawnCases kind = kind_named("long-context", context_max);
  kind.domain.groups = {1, 4, 8};
  kind.domain.num_seqs_min = 2;
  kind.domain.num_kv_heads_max = 1;
  kind.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kChunk};
  kind.domain.first_context_min = std::min<std::int64_t>(513, context_max);
  return kind;
}

DrawnCases many_sequences(std::int64_t context_max) {
  DrawnCases kind = kind_named("many-sequences", std::min<std::int64_t>(640, context_max));
  kind.domain.head_dims = {64, 128};
  kind.domain.groups = {1, 4};
  kind.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kMixed};
  kind.domain.num_seqs_min = 33;
  kind.domain.num_seqs_max = 40;
  return kind;
}

DrawnCases many_heads(std::int64_t context_max) {
  DrawnCases kind = kind_named("many-heads", std::min<std::int64_t>(320, context_max));
  kind.domain.groups = {1, 4};
  kind.domain.num_kv_heads_min = 5;
  kind.domain.num_kv_heads_max = 8;
  kind.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kChunk};
  kind.domain.first_context_min = std::min<std::int64_t>(33, context_max);
  return kind;
}

DrawnCases long_prompt(std::int64_t context_max) {
  DrawnCases kind = kind_named("long-prompt", std::min<std::int64_t>(384, context_max));
  kind.domain.head_dims = {64, 128};
  kind.domain.groups = {1, 2};
  kind.domain.num_seqs_max = 1;
  kind.domain.num_rows_max = 256;
  kind.domain.rows = {RowsKind::kChunk, RowsKind::kPrefill};
  kind.domain.first_rows_min = std::min<std::int64_t>(128, context_max - 1);
  return kind;
}

DrawnCases serving_batch(std::int64_t context_max) {
  DrawnCases kind = many_sequences(context_max);
  kind.name = "serving-batch";
  kind.domain.head_dims = {128};
  kind.domain.groups = {4};
  kind.domain.num_kv_heads_min = kind.domain.num_kv_heads_max = 8;
  kind.domain.context_max = std::min<std::int64_t>(520, context_max);
  return kind;
}

}  // namespace

std::vector<DrawnCases> serving_cases(std::int64_t context_max) {
  return {long_context(context_max), many_sequences(context_max), many_heads(context_max),
          long_prompt(context_max), serving_batch(context_max)};
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
