#include "cuda/kernels/group_decode.h"

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/group_decode_entries.cuh"
#include "cuda/kernels/stream_gate.h"

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
  if (decode.out.type != decode.q.type) return "out.type: expected that of q";
  if (const char* error = why_not_streamed(decode.kv)) return error;
  if (entry_for(decode) == nullptr) {
    return "q.type, kv.k.type, kv.k.head_dim: expected a row of group_decode_table()";
  }
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
