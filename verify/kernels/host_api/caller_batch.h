#pragma once

// A batch of three sequences as engines pass it, for the tests of cuda/caller_shapes.h: fp16 codes
// in memory aligned like a device's, and an element-by-element copy of a cache.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/attention_views.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "cuda/attention_plan.h"
#include "cuda/workspace.h"
#include "reference/rounding.h"

namespace recto::verify {

inline constexpr ElementType kType = ElementType::kFp16;
inline constexpr std::int64_t kSeqs = 3;
inline constexpr std::int64_t kQHeads = 4;
inline constexpr std::int64_t kHeads = 2;
inline constexpr std::int64_t kDim = 64;
inline constexpr std::int64_t kBlocks = 12;
inline constexpr std::int64_t kMaxBlocks = 3;
inline constexpr std::int64_t kMaxContext = 500;

using Codes = std::vector<std::uint16_t>;

// Aligned to 16 bytes, as device memory is.
struct alignas(16) Memory16 {
  std::uint16_t at[8];
};
class DeviceCodes {
 public:
  explicit DeviceCodes(std::int64_t size) : memory_(static_cast<std::size_t>((size + 7) / 8)) {}

  std::uint16_t* data() { return memory_[0].at; }
  std::uint16_t& operator[](std::int64_t index) {
    return memory_[static_cast<std::size_t>(index / 8)].at[index % 8];
  }

  void draw(RandomStream& random) {
    for (Memory16& eight : memory_) {
      for (std::uint16_t& code : eight.at) {
        code = static_cast<std::uint16_t>(reference::encode(2 * random.next_unit() - 1, kType));
      }
    }
  }

 private:
  std::vector<Memory16> memory_;
};

inline RowsView rows(DeviceCodes& codes, std::int64_t heads) {
  return {.data = codes.data(),
          .type = kType,
          .num_rows = kSeqs,
          .num_heads = heads,
          .head_dim = kDim,
          .row_stride = heads * kDim,
          .head_stride = kDim};
}

// The arguments that every caller passes: one token per sequence, tables padded with -1, lengths.
struct CallerBatch {
  explicit CallerBatch(std::int64_t block_size) : random(block_size) {
    for (DeviceCodes* codes : {&q, &k, &v}) codes->draw(random);
    const std::int32_t ids[] = {7, 2, -1, 11, -1, -1, 4, 9, 0};
    for (std::int64_t i = 0; i < kSeqs * kMaxBlocks; ++i) table.push_back(ids[i]);
    cached = {static_cast<std::int32_t>(block_size + 3), 0,
              static_cast<std::int32_t>(2 * block_size)};
    for (const std::int32_t length : cached) contexts.push_back(length + 1);
  }

  BlockTableView block_table() const { return {table.data(), kSeqs, kMaxBlocks, kMaxBlocks}; }

  RandomStream random;
  DeviceCodes q{kSeqs * kQHeads * kDim};
  DeviceCodes k{kSeqs * kHeads * kDim};
  DeviceCodes v{kSeqs * kHeads * kDim};
  std::vector<std::int32_t> table;
  std::vector<std::int32_t> cached;
  std::vector<std::int32_t> contexts;
  std::vector<std::int32_t> query_start = {0, 1, 2, 3};
};

// Maps (block, head, slot, dim) to a code of the caller's cache.
using CodeAt = std::function<std::uint16_t(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;

// A token-major copy of a cache.
struct CacheCopy {
  CacheCopy(std::int64_t block_size, const CodeAt& k_at, const CodeAt& v_at) {
    for (std::int64_t block = 0; block < kBlocks; ++block) {
      for (std::int64_t slot = 0; slot < block_size; ++slot) {
        for (std::int64_t head = 0; head < kHeads; ++head) {
          for (std::int64_t dim = 0; dim < kDim; ++dim) {
            k.push_back(k_at(block, head, slot, dim));
            v.push_back(v_at(block, head, slot, dim));
          }
        }
      }
    }
    const KvPoolShape shape = {.layout = KvLayout::kTokenMajor,
                               .type = kType,
                               .num_blocks = kBlocks,
                               .block_size = block_size,
                               .num_kv_heads = kHeads,
                               .head_dim_k = kDim,
                               .head_dim_v = kDim};
    view = as_const(dense_kv_view(shape, k.data(), v.data()).value());
  }

  Codes k;
  Codes v;
  PagedKvView view;
};

struct CallerOutputs {
  DeviceCodes out{kSeqs * kQHeads * kDim};
  std::vector<float> lse_ln = std::vector<float>(kSeqs * kQHeads);
  std::vector<Memory16> workspace;

  explicit CallerOutputs(const AttentionPlan& plan)
      : workspace(static_cast<std::size_t>(plan.workspace_bytes / 16 + 1)) {}

  AttentionOutputs views() {
    const RowsView view = rows(out, kQHeads);
    return {.out = {.data = out.data(),
                    .type = kType,
                    .num_rows = kSeqs,
                    .num_heads = kQHeads,
                    .head_dim = kDim,
                    .row_stride = view.row_stride,
                    .head_stride = view.head_stride},
            .lse_ln = lse_ln};
  }
  Workspace memory(const AttentionPlan& plan) {
    return {.data = workspace.data(), .bytes = plan.workspace_bytes};
  }
};

}  // namespace recto::verify
