#include "cuda/kernels/group_decode.h"

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/group_decode_entries.cuh"
#include "cuda/kernels/stream_gate.h"

namespace recto::kernels {
namespace {

const std::vector<GroupDecodeEntry>& table() {
  static const std::vector<GroupDecodeEntry> kTable = group_decode_table();
  return kTable;
}

}  // namespace

std::vector<GroupDecodeEntry> group_decode_table() {
  std::vector<GroupDecodeEntry> all;
  for (const auto& entries :
       {group_decode_entries_fp32(), group_decode_entries_fp16(), group_decode_entries_bf16(),
        group_decode_entries_fp16_fp8(), group_decode_entries_bf16_fp8()}) {
    all.insert(all.end(), entries.begin(), entries.end());
  }
  return all;
}

const char* why_not_group_served(const SplitDecodeParams& params) {
  const PagedDecodeParams& decode = params.decode;
  if (decode.out.type != decode.q.type) return "out.type: expected that of q";
  if (const char* error = why_not_streamed(decode.kv)) return error;
  if (find_entry(table(), decode) == nullptr) {
    return "q.type, kv.k.type, kv.k.head_dim: expected a row of group_decode_table()";
  }
  return nullptr;
}

KernelStatus launch_group_decode(const SplitDecodeParams& params, KernelStream stream) {
  if (const char* error = why_not_split(params)) return {error};
  if (const char* error = why_not_group_served(params)) return {error};
  if (params.decode.q.num_rows == 0) return {};
  return find_entry(table(), params.decode)->launch(params, stream);
}

}  // namespace recto::kernels
