#pragma once

// A batch of three sequences as engines pass it, for the tests of cuda/caller_shapes.h: fp16 codes
// in memory aligned like a device's, and an element-by-element copy of a cache.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/batch.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "cuda/attention_plan.h"
#include "cuda/workspace.h"
#include "verify/cases/poison.h"

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

// Codes of kType. The memory is aligned to 16 bytes, as device memory is at least.
class DeviceCodes {
 public:
  explicit DeviceCodes(std::int64_t size) : codes_(static_cast<std::size_t>(size)) {}

  std::uint16_t* data() { return codes_.data(); }
  std::uint16_t& operator[](std::int64_t index) { return codes_[static_cast<std::size_t>(index)]; }

  void draw(RandomStream& random) {
    fill_with_units(std::as_writable_bytes(std::span(codes_)), kType, random);
  }

 private:
  Codes codes_;
};

inline RowsView rows(DeviceCodes& codes, std::int64_t heads) {
  return dense_rows<const void*>(codes.data(), kType, kSeqs, heads, kDim);
}

inline MutablePagedKvView pool_view(KvLayout layout, std::int64_t block_size, std::uint16_t* k,
                                    std::uint16_t* v) {
  const KvPoolShape shape = {.layout = layout,
                             .type = kType,
                             .num_blocks = kBlocks,
                             .block_size = block_size,
                             .num_kv_heads = kHeads,
                             .head_dim_k = kDim,
                             .head_dim_v = kDim};
  return dense_kv_view(shape, k, v).value();
}

// The arguments that every caller passes: one token per sequence, tables padded with -1, lengths.
struct CallerBatch : BatchLists {
  explicit CallerBatch(std::int64_t block_size)
      : BatchLists(std::vector<BatchSequence>{
            {1, block_size + 4, {7, 2}}, {1, 1, {11}}, {1, 2 * block_size + 1, {4, 9, 0}}}),
        random(block_size) {
    for (DeviceCodes* codes : {&q, &k, &v}) codes->draw(random);
    for (const std::int32_t length : context_length) cached.push_back(length - 1);
  }

  RandomStream random;
  DeviceCodes q{kSeqs * kQHeads * kDim};
  DeviceCodes k{kSeqs * kHeads * kDim};
  DeviceCodes v{kSeqs * kHeads * kDim};
  std::vector<std::int32_t> cached;
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
    view = as_const(pool_view(KvLayout::kTokenMajor, block_size, k.data(), v.data()));
  }

  Codes k;
  Codes v;
  PagedKvView view;
};

struct alignas(16) Memory16 {
  std::uint16_t at[8];
};

struct CallerOutputs {
  DeviceCodes out{kSeqs * kQHeads * kDim};
  std::vector<float> lse_ln = std::vector<float>(kSeqs * kQHeads);
  std::vector<Memory16> workspace;

  explicit CallerOutputs(const AttentionPlan& plan)
      : workspace(static_cast<std::size_t>(plan.workspace_bytes / 16 + 1)) {}

  AttentionOutputs views() {
    return {.out = dense_rows<void*>(out.data(), kType, kSeqs, kQHeads, kDim), .lse_ln = lse_ln};
  }
  Workspace memory(const AttentionPlan& plan) {
    return {.data = workspace.data(), .bytes = plan.workspace_bytes};
  }
};

}  // namespace recto::verify
