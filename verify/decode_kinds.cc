#include "verify/decode_kinds.h"

#include <algorithm>
#include <utility>

namespace recto::verify {
namespace {

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
  kind.has_low_scores = true;
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64};
  domain.groups = {1, 4, 7, 8};
  domain.num_kv_heads_min = 2;
  domain.num_kv_heads_max = 8;
  domain.first_context_min = context_max / 2 + 1;
  return kind;
}

ServingKind long_peaks(std::int64_t context_max) {
  ServingKind kind = kind_named("long-peaks", context_max / 2 + context_max / 16);
  kind.has_peaked_ends = true;
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64};
  domain.groups = {1, 4, 7};
  domain.num_kv_heads_min = domain.num_kv_heads_max = 4;  // as many as peaks differ
  domain.first_context_min = context_max / 4 + 1;
  return kind;
}

ServingKind long_window(std::int64_t context_max) {
  ServingKind kind = kind_named("long-window", context_max);
  kind.has_window = true;
  CaseDomain& domain = kind.cases.domain;
  domain.groups = {1, 4, 6};
  domain.first_context_min = context_max - context_max / 4 + 1;
  return kind;
}

ServingKind other_dims() {
  ServingKind kind = kind_named("other-dims", 1024);
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {48, 80, 96, 112, 144, 160, 192, 224};
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
  kind.has_head_scales = true;
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

ServingKind odd_dims() {
  ServingKind kind = kind_named("odd-dims", 600);
  kind.has_negative_scale = true;
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {kOddHeadDims.begin(), kOddHeadDims.end()};
  // A packed cache would round some of them up.
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.groups = {1, 3, 4};
  domain.num_kv_heads_max = 3;
  domain.first_context_min = 257;
  return kind;
}

}  // namespace

std::vector<ServingKind> decode_kinds(const SizeLimits& limits) {
  std::vector<std::int64_t> widest = {71, 96, 128, 128};
  if (limits.num_q_heads_max > 128) widest.push_back(limits.num_q_heads_max);
  return {long_context(limits.context_max),
          wide("wide-groups", {17, 24, 32}),
          model_decode(limits.context_max),
          wide("widest-groups", widest),
          many_sequences(),
          many_heads(),
          short_sequences(limits.num_seqs_max),
          long_window(limits.context_max),
          long_heads(limits.context_max),
          wide("wider-groups", {33, 48, 64, 64}),
          serving_batch(),
          other_dims(),
          odd_dims(),
          long_peaks(limits.context_max)};
}

}  // namespace recto::verify
