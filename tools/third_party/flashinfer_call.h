#pragma once

// What the adapters of FlashInfer's decode and prefill have in common: its block table, which is
// one list of all sequences' blocks, and the memory of its scheduler.

#include <flashinfer/exception.h>
#include <flashinfer/math.cuh>
#include <flashinfer/page.cuh>

#include <recto_cuda_adapter.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace flashinfer_adapter {

constexpr float kLn2 = 0.693147180559945309F;
constexpr int64_t kIntBytes = int64_t{1} << 20;

// The reason by which skipped cases are counted; null if the case is supported.
inline const char* why_unsupported(const RectoAttentionCall& call) {
  const RectoKvTensor& k = call.k;
  const RectoKvTensor& v = call.v;
  if (call.q.type == kRectoFp32 || k.type != call.q.type) return "types other than fp16 and bf16";
  if (k.layout == kRectoPacked) return "the packed layout";
  if (k.head_dim != v.head_dim || (k.head_dim != 64 && k.head_dim != 128)) {
    return "head dims other than 64 and 128";
  }
  if (k.block_stride != v.block_stride || k.head_stride != v.head_stride ||
      k.slot_stride != v.slot_stride) {
    return "other strides of V than of K";
  }
  if ((call.q.row_stride | call.q.head_stride | k.block_stride | k.head_stride | k.slot_stride) %
          8 !=
      0) {
    return "vectors that are not aligned to 16 bytes";
  }
  if (call.out.head_stride != call.out.head_dim ||
      call.out.row_stride != call.out.num_heads * call.out.head_dim) {
    return "results with gaps";
  }
  if (call.alibi_slopes != nullptr || call.sinks != nullptr) return "ALiBi and sinks";
  return nullptr;
}

// A call's block table as FlashInfer takes it: the blocks of all sequences in one array, where each
// begins, and how many tokens the last block of each holds.
struct BlockLists {
  explicit BlockLists(const RectoAttentionCall& call) : indptr{0} {
    for (int64_t s = 0; s < call.num_seqs; ++s) {
      const int32_t* row = call.block_table + s * call.block_table_row_stride;
      const int64_t length = call.context_length[s];
      const int64_t count = (length + call.k.block_size - 1) / call.k.block_size;
      indices.insert(indices.end(), row, row + count);
      indptr.push_back(static_cast<int32_t>(indices.size()));
      last_page_len.push_back(
          static_cast<int32_t>(count == 0 ? 0 : length - (count - 1) * call.k.block_size));
    }
  }

  std::vector<int32_t> indices;
  std::vector<int32_t> indptr;         // [num_seqs + 1]
  std::vector<int32_t> last_page_len;  // [num_seqs]
};

// An array of the host, and its copy on the device.
class DeviceCopy {
 public:
  DeviceCopy(recto::CheckedCall& checked, const char* name, const std::vector<int32_t>& values)
      : values_(values),
        copy_(checked.workspace<int32_t>(name, static_cast<int64_t>(values.size()))) {}

  int32_t* upload() const {
    if (!values_.empty()) cudaMemcpy(copy_, values_.data(), values_.size() * 4, cudaMemcpyDefault);
    return copy_;
  }

 private:
  const std::vector<int32_t>& values_;
  int32_t* copy_;
};

// The memory of a call beside recto's own.
struct Memory {
  Memory(recto::CheckedCall& checked, const RectoAttentionCall& call, int64_t float_bytes)
      : lists(call),
        indices(checked, "indices", lists.indices),
        indptr(checked, "indptr", lists.indptr),
        last_page_len(checked, "last_page_len", lists.last_page_len),
        floats(checked.workspace<std::byte>("float_workspace", float_bytes)),
        float_bytes(float_bytes),
        ints(checked.workspace<std::byte>("int_workspace", kIntBytes)),
        page_locked(kIntBytes) {}

  BlockLists lists;
  DeviceCopy indices;
  DeviceCopy indptr;
  DeviceCopy last_page_len;
  std::byte* floats;  // partial results
  int64_t float_bytes;
  std::byte* ints;
  std::vector<std::byte> page_locked;
};

template <typename T>
flashinfer::paged_kv_t<T, int32_t> paged_cache(const RectoAttentionCall& call,
                                               const Memory& memory) {
  const RectoKvTensor& k = call.k;
  const bool is_head_major = k.layout == kRectoHeadMajor;
  const int64_t strides[] = {k.block_stride, is_head_major ? k.head_stride : k.slot_stride,
                             is_head_major ? k.slot_stride : k.head_stride, 1};
  return {static_cast<uint32_t>(k.num_kv_heads),
          static_cast<uint32_t>(k.block_size),
          static_cast<uint32_t>(k.head_dim),
          static_cast<uint32_t>(call.num_seqs),
          is_head_major ? flashinfer::QKVLayout::kHND : flashinfer::QKVLayout::kNHD,
          static_cast<T*>(const_cast<void*>(k.data)),
          static_cast<T*>(const_cast<void*>(call.v.data)),
          strides,
          memory.indices.upload(),
          memory.indptr.upload(),
          memory.last_page_len.upload()};
}

inline void allow_what_is_meant(recto::CheckedCall& checked) {
  // Keys behind a tile's end are not copied; their scores are computed and replaced by -infinity.
  checked.allow(recto::UninitialisedReads::kAreMasked);
  // The lanes of a row all store its maximum and its sum, and all rows the merged result.
  checked.allow(recto::CommonStores::kAreEqual);
}

template <typename Params>
void set_common(const RectoAttentionCall& call, Params& params) {
  params.num_qo_heads = static_cast<uint32_t>(call.q.num_heads);
  params.q_stride_n = static_cast<int32_t>(call.q.row_stride);
  params.q_stride_h = static_cast<int32_t>(call.q.head_stride);
  params.window_left = static_cast<int32_t>(call.window) - 1;  // -1: no window
  params.logits_soft_cap = call.softcap;
  params.sm_scale = call.scale;
  params.lse = call.lse_ln;
}

// FlashInfer's log-sum-exp is to base 2. Its -infinity is -50,000, to which merges add some units.
inline void to_natural_logarithms(const RectoAttentionCall& call) {
  for (int64_t i = 0; i < call.q.num_rows * call.q.num_heads; ++i) {
    float& lse = call.lse_ln[i];
    lse = lse < -flashinfer::math::inf / 2 ? -std::numeric_limits<float>::infinity() : lse * kLn2;
  }
}

inline void check(cudaError_t error) {
  FLASHINFER_CHECK(error == cudaSuccess, cudaGetErrorString(error));
}

}  // namespace flashinfer_adapter
