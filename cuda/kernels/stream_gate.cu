#include "cuda/kernels/stream_gate.h"

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/tile.cuh"

namespace recto::kernels {
namespace {

// Whether all chunks that are copied begin at multiples of their size. Packed values need that of
// their blocks only: where these hold no whole chunks, elements are copied one by one.
bool has_aligned_chunks(const KvTensorView& tensor) {
  const std::int64_t chunk = kChunkBytes / element_bytes(tensor.type);
  std::int64_t strides = tensor.block_stride | tensor.head_stride;
  if (tensor.layout != KvLayout::kPacked) {
    strides |= tensor.slot_stride;
  } else if (tensor.pack_width > 1 || tensor.block_size % chunk == 0) {
    strides |= tensor.pack_stride;
  } else {
    return true;
  }
  return reinterpret_cast<std::uintptr_t>(tensor.data) % kChunkBytes == 0 && strides % chunk == 0;
}

bool is_packed(const KvTensorView& tensor) { return tensor.layout == KvLayout::kPacked; }

}  // namespace

const char* why_not_streamed(const PagedKvView& kv) {
  const KvTensorView& k = kv.k;
  const KvTensorView& v = kv.v;
  if (v.type != k.type) return "kv.v.type: expected that of kv.k";
  if (v.head_dim != k.head_dim) return "kv.v.head_dim: expected that of kv.k";
  const std::int64_t chunk = kChunkBytes / element_bytes(k.type);
  if (is_packed(k) && k.pack_width != chunk) return "kv.k.pack_width: expected 16 bytes";
  if (is_packed(v) && v.pack_width != 1) return "kv.v.pack_width: expected 1";
  if (!has_aligned_chunks(k)) return "kv.k: expected data and strides of multiples of 16 bytes";
  if (!has_aligned_chunks(v)) return "kv.v: expected data and strides of multiples of 16 bytes";
  return nullptr;
}

const char* why_not_in_blocks(const PagedKvView& kv) {
  if (is_packed(kv.k) || is_packed(kv.v)) return "kv.k.layout, kv.v.layout: expected no packed one";
  if (kv.k.block_size == 1) return nullptr;
  if (kv.k.slot_stride != kv.k.head_dim) return "kv.k.slot_stride: expected head_dim";
  if (kv.v.slot_stride != kv.v.head_dim) return "kv.v.slot_stride: expected head_dim";
  return nullptr;
}

}  // namespace recto::kernels
