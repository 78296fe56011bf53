#include "verify/serving_kinds.h"

#include <algorithm>
#include <utility>

namespace recto::verify {
namespace {

// Lengths on both sides of these are drawn more often: kernels split or switch methods there.
const std::vector<std::int64_t> kThresholds = {64, 256, 512, 1024};

ServingKind kind_named(const char* name, std::int64_t context_max) {
  ServingKind kind{.cases = {.name = name, .count = 1}};
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64, 128};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  // Sizes beyond 256 more often: a fault there shows only in contexts that cross so many tokens.
  domain.block_sizes = {16, 32, 64, 128, 256, 272, 512, 512};
  domain.tile_sizes = kThresholds;
  domain.lengths = Lengths::kSkewed;
  // Equal numbers hide which of them was read, and one of these cases costs as much as many small
  // ones.
  std::erase(domain.families, FloatFamily::kOnes);
  domain.rows = {RowsKind::kDecode};
  domain.num_seqs_max = 2;
  domain.num_kv_heads_max = 2;
  domain.num_rows_max = 3;
  domain.context_max = context_max;
  return kind;
}

// The first sequence has this many rows at least. Blocks are of usual sizes: the pool is not what
// these are large in.
ServingKind chunks_named(const char* name, std::int64_t context_max, std::int64_t rows_min,
                         std::int64_t rows_max) {
  ServingKind kind = kind_named(name, context_max);
  kind.rows = ServedRows::kChunks;
  kind.cases.domain.rows = {RowsKind::kChunk};
  kind.cases.domain.first_rows_min = rows_min;
  kind.cases.domain.num_rows_max = rows_max;
  return kind;
}

ServingKind long_context(std::int64_t context_max) {
  ServingKind kind = kind_named("long-context", context_max);
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64, 128, 256};
  domain.groups = {1, 1, 4, 6, 8, 12};
  domain.num_seqs_min = 2;
  domain.num_kv_heads_max = 1;
  domain.first_context_min = context_max / 2 + 1;
  return kind;
}

// Query heads over KV heads of models: 32 or 64 over 8. Three partitions of 512 keys, and more.
ServingKind model_decode(std::int64_t context_max) {
  ServingKind kind = kind_named("model-decode", context_max / 2 + context_max / 16);
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {128};
  domain.groups = {4, 4, 5, 8};
  domain.block_sizes = {16, 16, 32, 64, 128, 256};
  domain.num_seqs_min = 2;
  domain.num_seqs_max = 4;
  domain.num_kv_heads_min = domain.num_kv_heads_max = 8;
  domain.first_context_min = context_max / 4 + 1;
  return kind;
}

ServingKind long_heads(std::int64_t context_max) {
  ServingKind kind = kind_named("long-heads", context_max);
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64};
  domain.groups = {1, 4, 7, 8};
  domain.num_kv_heads_min = 2;
  domain.num_kv_heads_max = 8;
  domain.first_context_min = context_max / 2 + 1;
  return kind;
}

ServingKind long_window() {
  ServingKind kind = kind_named("long-window", 1536);
  kind.has_window = true;
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 4, 6, 8};
  domain.num_kv_heads_max = 3;
  domain.first_context_min = 1025;
  return kind;
}

ServingKind other_dims() {
  ServingKind kind = kind_named("other-dims", 1024);
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {80, 96, 192};
  domain.groups = {1, 3, 4, 8};
  domain.num_kv_heads_min = 2;
  domain.num_kv_heads_max = 3;
  domain.first_context_min = 513;
  return kind;
}

// Query heads over KV heads of models: 48, 64 or 71 over one, and 128 over one where the keys of
// all heads are one latent.
ServingKind wide(const char* name, std::vector<std::int64_t> groups) {
  ServingKind kind = kind_named(name, 800);
  CaseDomain& domain = kind.cases.domain;
  domain.groups = std::move(groups);
  domain.num_seqs_min = 2;
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 1;
  domain.first_context_min = 65;
  return kind;
}

ServingKind many_heads() {
  ServingKind kind = kind_named("many-heads", 288);
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 3, 4, 6};
  domain.num_kv_heads_min = 17;
  domain.num_kv_heads_max = 32;
  domain.first_context_min = 33;
  return kind;
}

ServingKind many_sequences() {
  ServingKind kind = kind_named("many-sequences", 640);
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 4, 5};
  domain.num_seqs_min = 33;
  domain.num_seqs_max = 72;
  return kind;
}

ServingKind serving_batch() {
  ServingKind kind = many_sequences();
  kind.cases.name = "serving-batch";
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {128};
  domain.groups = {12, 16};
  domain.num_kv_heads_min = domain.num_kv_heads_max = 8;
  domain.num_seqs_max = 40;
  domain.context_max = 520;
  // With larger blocks, one per sequence and 8 heads, nearly all of the time would go into filling
  // the pool.
  domain.block_sizes = {16, 32, 64, 128, 256};
  return kind;
}

ServingKind short_sequences(std::int64_t num_seqs_max) {
  ServingKind kind = kind_named("short-sequences", 40);
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64};
  domain.groups = {1, 4, 9};
  domain.block_sizes = {8, 16, 32};
  domain.tile_sizes = {8, 32};
  domain.lengths = Lengths::kAlike;
  domain.num_kv_heads_max = 1;
  domain.num_seqs_min = 129;
  domain.num_seqs_max = std::max<std::int64_t>(129, num_seqs_max);
  return kind;
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
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64};
  domain.groups = {1, 2, 4};
  domain.num_q_heads_max = 4;
  domain.first_context_min = 512;  // a prefix of 312 at least
  return kind;
}

ServingKind long_prompt(std::int64_t num_rows_max) {
  ServingKind kind = chunks_named("long-prompt", std::max<std::int64_t>(640, num_rows_max), 257,
                                  std::max<std::int64_t>(257, num_rows_max));
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64};
  domain.groups = {1, 2, 4};
  domain.num_q_heads_max = 4;
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

}  // namespace

std::vector<ServingKind> serving_kinds(const SizeLimits& limits) {
  std::vector<std::int64_t> widest = {71, 96, 128, 128};
  if (limits.num_q_heads_max > 128) widest.push_back(limits.num_q_heads_max);
  std::vector<ServingKind> kinds = {long_context(limits.context_max),
                                    chunks(),
                                    wide("wide-groups", {17, 24, 32}),
                                    cached_prefix(),
                                    model_decode(limits.context_max),
                                    mixed_batch(),
                                    wide("widest-groups", widest),
                                    long_prompt(limits.num_rows_max),
                                    many_sequences(),
                                    many_chunks(),
                                    many_heads(),
                                    wide_chunks(),
                                    short_sequences(limits.num_seqs_max),
                                    many_head_chunks(),
                                    long_window(),
                                    long_heads(limits.context_max),
                                    wide("wider-groups", {33, 48, 64, 64}),
                                    serving_batch(),
                                    other_dims()};
  for (ServingKind& kind : kinds) kind.cases.domain = within(limits, std::move(kind.cases.domain));
  return kinds;
}

CaseDomain within(const SizeLimits& limits, CaseDomain domain) {
  const auto lower = [](std::int64_t& size, std::int64_t limit) { size = std::min(size, limit); };
  lower(domain.context_max, limits.context_max);
  lower(domain.first_context_min, limits.context_max);
  lower(domain.num_rows_max, limits.num_rows_max);
  lower(domain.first_rows_min, std::min(limits.num_rows_max, limits.context_max - 1));
  lower(domain.num_seqs_max, limits.num_seqs_max);
  lower(domain.num_seqs_min, limits.num_seqs_max);
  const std::int64_t q_heads_max = limits.num_q_heads_max;
  domain.num_q_heads_max = std::min(domain.num_q_heads_max.value_or(q_heads_max), q_heads_max);
  std::erase_if(domain.groups, [&](std::int64_t group) { return group > q_heads_max; });
  if (domain.groups.empty()) domain.groups = {q_heads_max};
  return domain;
}

}  // namespace recto::verify
