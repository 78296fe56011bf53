#include "verify/serving_kinds.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace recto::verify {
namespace {

using enum ServedRows;
using enum ServingTrait;

using Sizes = std::vector<std::int64_t>;

struct Range {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

// Sizes of a kind. What is not given is small.
struct Kind {
  const char* name = nullptr;
  Range context = {};  // of the first sequence at least, of any at most
  Range rows = {0, 3};
  Sizes groups = {};
  Range kv_heads = {1, 2};
  std::optional<std::int64_t> q_heads_max = {};
  Range sequences = {1, 2};
  Sizes head_dims = {64, 128};
  // Sizes beyond 256 more often: a fault there shows only in contexts that cross so many tokens.
  Sizes block_sizes = {16, 32, 64, 128, 256, 272, 512, 512};
  // Lengths on both sides of these are drawn more often: kernels split or switch methods there.
  Sizes tile_sizes = {64, 256, 512, 1024};
  Lengths lengths = Lengths::kSkewed;
  std::vector<RowsKind> rows_drawn = {RowsKind::kChunk};
  ServedRows served = kOne;
  ServingTrait trait = kNone;
};

// No multiples of 16: kernels load 16 bytes, or multiply 16 dims, at a time.
const Sizes kOddHeadDims = {40, 56, 72, 88, 104, 120, 136, 168};

ServingKind made(const Kind& kind) {
  ServingKind result{
      .cases = {.name = kind.name, .count = 1}, .rows = kind.served, .trait = kind.trait};
  CaseDomain& domain = result.cases.domain;
  domain.head_dims = kind.head_dims;
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  // A packed cache would round odd head dims up.
  if (kind.head_dims == kOddHeadDims)
    domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.groups = kind.groups;
  domain.block_sizes = kind.block_sizes;
  domain.tile_sizes = kind.tile_sizes;
  domain.lengths = kind.lengths;
  // Equal numbers hide which of them was read, and one of these cases costs as much as many small
  // ones.
  std::erase(domain.families, FloatFamily::kOnes);
  domain.rows = kind.served == kOne ? std::vector{RowsKind::kDecode} : kind.rows_drawn;
  domain.first_rows_min = kind.rows.min;
  domain.num_rows_max = kind.rows.max;
  domain.num_seqs_min = kind.sequences.min;
  domain.num_seqs_max = kind.sequences.max;
  domain.num_kv_heads_min = kind.kv_heads.min;
  domain.num_kv_heads_max = kind.kv_heads.max;
  domain.num_q_heads_max = kind.q_heads_max;
  domain.first_context_min = kind.context.min;
  domain.context_max = kind.context.max;
  return result;
}

// clang-format off
std::vector<Kind> decode_kinds(const SizeLimits& limits) {
  const std::int64_t longest = limits.context_max;
  Sizes widest = {71, 96, 128, 128};
  if (limits.num_q_heads_max > 128) widest.push_back(limits.num_q_heads_max);
  return {
      {.name = "long-context", .context = {longest / 2 + 1, longest},
       .groups = {1, 1, 4, 6, 8, 12}, .kv_heads = {1, 1}, .sequences = {2, 2},
       .head_dims = {64, 128, 256}},
      // Query heads over KV heads of models: 48, 64 or 71 over one, and 128 over one where the
      // keys of all heads are one latent.
      {.name = "wide-groups", .context = {65, 800}, .groups = {17, 24, 32}, .kv_heads = {1, 1},
       .sequences = {2, 3}},
      // Query heads over KV heads of models: 32 or 64 over 8. Three partitions of 512 keys, and
      // more.
      {.name = "model-decode", .context = {longest / 4 + 1, longest / 2 + longest / 16},
       .groups = {4, 4, 5, 8}, .kv_heads = {8, 8}, .sequences = {2, 4}, .head_dims = {128},
       .block_sizes = {16, 16, 32, 64, 128, 256}},
      {.name = "widest-groups", .context = {65, 800}, .groups = widest, .kv_heads = {1, 1},
       .sequences = {2, 3}},
      {.name = "many-sequences", .context = {0, 640}, .groups = {1, 4, 5},
       .sequences = {33, 72}},
      {.name = "many-heads", .context = {33, 288}, .groups = {1, 3, 4, 6}, .kv_heads = {17, 32},
       .trait = kHeadScales},
      {.name = "short-sequences", .context = {0, 40}, .groups = {1, 4, 9}, .kv_heads = {1, 1},
       .sequences = {129, std::max<std::int64_t>(129, limits.num_seqs_max)}, .head_dims = {64},
       .block_sizes = {8, 16, 32}, .tile_sizes = {8, 32}, .lengths = Lengths::kAlike},
      {.name = "long-window", .context = {longest - longest / 4 + 1, longest},
       .groups = {1, 4, 6}, .trait = kWindow},
      {.name = "long-heads", .context = {longest / 2 + 1, longest}, .groups = {1, 4, 7, 8},
       .kv_heads = {2, 8}, .head_dims = {64}, .trait = kLowScores},
      {.name = "wider-groups", .context = {65, 800}, .groups = {33, 48, 64, 64},
       .kv_heads = {1, 1}, .sequences = {2, 3}},
      // With larger blocks, one per sequence and 8 heads, nearly all of the time would go into
      // filling the pool.
      {.name = "serving-batch", .context = {0, 520}, .groups = {12, 16}, .kv_heads = {8, 8},
       .sequences = {33, 40}, .head_dims = {128}, .block_sizes = {16, 32, 64, 128, 256}},
      {.name = "other-dims", .context = {513, 1024}, .groups = {1, 3, 4, 8}, .kv_heads = {2, 3},
       .head_dims = {48, 80, 96, 112, 144, 160, 192, 224}},
      {.name = "odd-dims", .context = {257, 600}, .groups = {1, 3, 4}, .kv_heads = {1, 3},
       .head_dims = kOddHeadDims, .trait = kNegativeScale},
      {.name = "long-peaks", .context = {longest / 4 + 1, longest / 2 + longest / 16},
       .groups = {1, 4, 7}, .kv_heads = {4, 4}, .head_dims = {64}, .trait = kPeakedEnds},
  };
}

std::vector<Kind> chunk_kinds(const SizeLimits& limits) {
  const std::int64_t longest = limits.context_max;
  const std::int64_t rows_max = std::max<std::int64_t>(257, limits.num_rows_max);
  return {
      {.name = "chunks", .context = {33, 300}, .rows = {13, 100}, .groups = {1, 4, 7, 8},
       .q_heads_max = 8, .sequences = {2, 5}, .served = kChunks},
      // a prefix of 312 at least
      {.name = "cached-prefix", .context = {512, 1280}, .rows = {128, 200}, .groups = {1, 2, 4},
       .q_heads_max = 4, .head_dims = {64}, .served = kChunks},
      {.name = "mixed-batch", .context = {0, 384}, .rows = {129, 144}, .groups = {4, 8},
       .kv_heads = {2, 8}, .q_heads_max = 32, .sequences = {3, 8}, .head_dims = {64},
       .served = kChunksAndDecodes},
      {.name = "long-prompt", .context = {0, std::max<std::int64_t>(640, limits.num_rows_max)},
       .rows = {257, rows_max}, .groups = {1, 2, 4}, .q_heads_max = 4, .sequences = {1, 1},
       .head_dims = {64}, .rows_drawn = {RowsKind::kChunk, RowsKind::kPrefill},
       .served = kChunks},
      {.name = "many-chunks", .context = {0, 200}, .rows = {2, 9}, .groups = {1, 4},
       .sequences = {33, 72}, .rows_drawn = {RowsKind::kMixed}, .served = kChunks},
      {.name = "wide-chunks", .context = {65, 400}, .rows = {4, 20}, .groups = {16, 24, 48, 71},
       .kv_heads = {1, 1}, .served = kChunks},
      {.name = "many-head-chunks", .context = {33, 160}, .rows = {13, 48}, .groups = {1, 3, 4},
       .kv_heads = {8, 16}, .served = kChunks},
      {.name = "late-chunk", .context = {longest / 2 + 1 + 64, longest}, .rows = {13, 64},
       .groups = {1, 2, 4}, .q_heads_max = 4, .head_dims = {64}, .served = kChunks,
       .trait = kNegativeScale},
      // As where the tokens that a small model guessed are verified.
      {.name = "speculation", .context = {longest / 2 + 1, longest / 2 + longest / 8},
       .rows = {2, 8}, .groups = {1, 4, 8}, .q_heads_max = 8, .sequences = {3, 4},
       .lengths = Lengths::kAlike, .served = kChunks},
      // The window is longer than a block.
      {.name = "window-chunks", .context = {1344, 2048}, .rows = {13, 48}, .groups = {1, 2, 4},
       .q_heads_max = 4, .head_dims = {64}, .block_sizes = {16, 32, 64}, .served = kChunks,
       .trait = kWindow},
      {.name = "sparse-batch", .context = {33, 200}, .rows = {13, 24}, .groups = {1, 4},
       .sequences = {25, 64}, .served = kChunksAndEmpty},
      {.name = "odd-dim-chunks", .context = {65, 200}, .rows = {13, 32}, .groups = {1, 2, 4},
       .head_dims = kOddHeadDims, .served = kChunks},
      // As many KV heads as peaks differ.
      {.name = "peaked-chunk", .context = {longest / 4 + 1 + 16, longest / 2 + longest / 16},
       .rows = {2, 16}, .groups = {1, 2}, .kv_heads = {4, 4}, .q_heads_max = 8,
       .head_dims = {64}, .served = kChunks, .trait = kPeakedEnds},
  };
}
// clang-format on

}  // namespace

std::vector<ServingKind> serving_kinds(const SizeLimits& limits) {
  std::vector<ServingKind> kinds;
  const auto add = [&](const Kind& kind) {
    kinds.push_back(made(kind));
    CaseDomain& domain = kinds.back().cases.domain;
    domain = within(limits, std::move(domain));
  };
  const std::vector<Kind> decodes = decode_kinds(limits);
  const std::vector<Kind> chunks = chunk_kinds(limits);
  for (std::size_t i = 0; i < decodes.size(); ++i) {
    add(decodes[i]);
    if (i < chunks.size()) add(chunks[i]);
  }
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
