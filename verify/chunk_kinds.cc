#include "verify/chunk_kinds.h"

#include <algorithm>

namespace recto::verify {
namespace {

// The heads of kinds whose rows or contexts are many.
void keep_few_heads(CaseDomain& domain) {
  domain.head_dims = {64};
  domain.groups = {1, 2, 4};
  domain.num_q_heads_max = 4;
}

ServingKind chunks() {
  ServingKind kind = chunks_named("chunks", 300, 13, 100);
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 4, 7, 8};
  domain.num_q_heads_max = 8;
  domain.num_seqs_min = 2;
  domain.num_seqs_max = 5;
  domain.first_context_min = 33;
  return kind;
}

ServingKind mixed_batch() {
  ServingKind kind = chunks_named("mixed-batch", 384, 129, 144);
  kind.rows = ServedRows::kChunksAndDecodes;
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64};
  domain.groups = {4, 8};
  domain.num_q_heads_max = 32;
  domain.num_kv_heads_min = 2;
  domain.num_kv_heads_max = 8;
  domain.num_seqs_min = 3;
  domain.num_seqs_max = 8;
  return kind;
}

ServingKind cached_prefix() {
  ServingKind kind = chunks_named("cached-prefix", 1280, 128, 200);
  keep_few_heads(kind.cases.domain);
  kind.cases.domain.first_context_min = 512;  // a prefix of 312 at least
  return kind;
}

ServingKind long_prompt(std::int64_t num_rows_max) {
  ServingKind kind = chunks_named("long-prompt", std::max<std::int64_t>(640, num_rows_max), 257,
                                  std::max<std::int64_t>(257, num_rows_max));
  CaseDomain& domain = kind.cases.domain;
  keep_few_heads(domain);
  domain.num_seqs_max = 1;
  domain.rows = {RowsKind::kChunk, RowsKind::kPrefill};
  return kind;
}

ServingKind many_chunks() {
  ServingKind kind = chunks_named("many-chunks", 200, 2, 9);
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 4};
  domain.rows = {RowsKind::kMixed};
  domain.num_seqs_min = 33;
  domain.num_seqs_max = 72;
  return kind;
}

ServingKind wide_chunks() {
  ServingKind kind = chunks_named("wide-chunks", 400, 4, 20);
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {16, 24, 48, 71};
  domain.num_kv_heads_max = 1;
  domain.first_context_min = 65;
  return kind;
}

ServingKind many_head_chunks() {
  ServingKind kind = chunks_named("many-head-chunks", 160, 13, 48);
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 3, 4};
  domain.num_kv_heads_min = 8;
  domain.num_kv_heads_max = 16;
  domain.first_context_min = 33;
  return kind;
}

ServingKind late_chunk(std::int64_t context_max) {
  constexpr std::int64_t kRowsMax = 64;
  ServingKind kind = chunks_named("late-chunk", context_max, 13, kRowsMax);
  kind.has_negative_scale = true;
  keep_few_heads(kind.cases.domain);
  kind.cases.domain.first_context_min = context_max / 2 + 1 + kRowsMax;
  return kind;
}

// As where the tokens that a small model guessed are verified.
ServingKind speculation(std::int64_t context_max) {
  ServingKind kind = chunks_named("speculation", context_max / 2 + context_max / 8, 2, 8);
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 4, 8};
  domain.num_q_heads_max = 8;
  domain.lengths = Lengths::kAlike;
  domain.num_seqs_min = 3;
  domain.num_seqs_max = 4;
  domain.first_context_min = context_max / 2 + 1;
  return kind;
}

ServingKind window_chunks() {
  ServingKind kind = chunks_named("window-chunks", 2048, 13, 48);
  kind.has_window = true;
  keep_few_heads(kind.cases.domain);
  kind.cases.domain.block_sizes = {16, 32, 64};  // the window is longer than a block
  kind.cases.domain.first_context_min = 1344;
  return kind;
}

ServingKind sparse_batch() {
  ServingKind kind = chunks_named("sparse-batch", 200, 13, 24);
  kind.rows = ServedRows::kChunksAndEmpty;
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 4};
  domain.num_seqs_min = 25;
  domain.num_seqs_max = 64;
  domain.first_context_min = 33;
  return kind;
}

ServingKind odd_dim_chunks() {
  ServingKind kind = chunks_named("odd-dim-chunks", 200, 13, 32);
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {kOddHeadDims.begin(), kOddHeadDims.end()};
  // A packed cache would round some of them up.
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.groups = {1, 2, 4};
  domain.first_context_min = 65;
  return kind;
}

ServingKind peaked_chunk(std::int64_t context_max) {
  constexpr std::int64_t kRowsMax = 16;
  ServingKind kind = chunks_named("peaked-chunk", context_max / 2 + context_max / 16, 2, kRowsMax);
  kind.has_peaked_ends = true;
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64};
  domain.groups = {1, 2};
  domain.num_q_heads_max = 8;
  domain.num_kv_heads_min = domain.num_kv_heads_max = 4;  // as many as peaks differ
  domain.first_context_min = context_max / 4 + 1 + kRowsMax;
  return kind;
}

}  // namespace

std::vector<ServingKind> chunk_kinds(const SizeLimits& limits) {
  return {chunks(),
          cached_prefix(),
          mixed_batch(),
          long_prompt(limits.num_rows_max),
          many_chunks(),
          wide_chunks(),
          many_head_chunks(),
          late_chunk(limits.context_max),
          speculation(limits.context_max),
          window_chunks(),
          sparse_batch(),
          odd_dim_chunks(),
          peaked_chunk(limits.context_max)};
}

}  // namespace recto::verify
