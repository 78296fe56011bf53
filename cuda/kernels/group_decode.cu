#include "cuda/kernels/group_decode.h"

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/group_decode_entries.cuh"

namespace recto::kernels {
namespace {

const GroupDecodeEntry* entry_for(const PagedDecodeParams& decode) {
  static const std::vector<GroupDecodeEntry> table = group_decode_table();
  for (const GroupDecodeEntry& entry : table) {
    if (entry.q_type == decode.q.type && entry.kv_type == decode.kv.k.type &&
        entry.head_dim == decode.kv.k.head_dim) {
      return &entry;
    }
  }
  return nullptr;
}

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

std::vector<GroupDecodeEntry> group_decode_table() {
  std::vector<GroupDecodeEntry> table;
  for (const auto& entries :
       {group_decode_entries_fp32(), group_decode_entries_fp16(), group_decode_entries_bf16(),
        group_decode_entries_fp16_fp8(), group_decode_entries_bf16_fp8()}) {
    table.insert(table.end(), entries.begin(), entries.end());
  }
  return table;
}

const char* why_not_group_served(const SplitDecodeParams& params) {
  const PagedDecodeParams& decode = params.decode;
  const KvTensorView& k = decode.kv.k;
  const KvTensorView& v = decode.kv.v;
  if (decode.out.type != decode.q.type) return "out.type: expected that of q";
  if (v.type != k.type) return "kv.v.type: expected that of kv.k";
  if (v.head_dim != k.head_dim) return "kv.v.head_dim: expected that of kv.k";
  if (entry_for(decode) == nullptr) {
    return "q.type, kv.k.type, kv.k.head_dim: expected a row of group_decode's table";
  }
  const std::int64_t chunk = kChunkBytes / element_bytes(k.type);
  if (is_packed(k) && k.pack_width != chunk) return "kv.k.pack_width: expected 16 bytes";
  if (is_packed(v) && v.pack_width != 1) return "kv.v.pack_width: expected 1";
  if (!has_aligned_chunks(k)) return "kv.k: expected data and strides of multiples of 16 bytes";
  if (!has_aligned_chunks(v)) return "kv.v: expected data and strides of multiples of 16 bytes";
  return nullptr;
}

KernelStatus launch_group_decode(const SplitDecodeParams& params, KernelStream stream) {
  if (params.split_size < 1) return {"split_size: expected at least 1"};
  if (params.num_splits < 1) return {"num_splits: expected at least 1"};
  if (const char* error = why_not_group_served(params)) return {error};
  if (params.decode.q.num_rows == 0) return {};
  return entry_for(params.decode)->launch(params, stream);
}

}  // namespace recto::kernels
