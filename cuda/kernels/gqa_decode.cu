#include "cuda/kernels/gqa_decode.h"

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/gqa_decode_entries.cuh"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/stream_gate.h"

namespace recto::kernels {
namespace {

const KernelTable<SplitDecodeParams>& table() {
  static const KernelTable<SplitDecodeParams> kTable = gqa_decode_table();
  return kTable;
}

}  // namespace

KernelTable<SplitDecodeParams> gqa_decode_table() {
  return joined({gqa_decode_entries_fp32(), gqa_decode_entries_fp16(), gqa_decode_entries_bf16(),
                 gqa_decode_entries_fp16_fp8(), gqa_decode_entries_bf16_fp8()});
}

Status check_group_served(const SplitDecodeParams& params) {
  const ReferenceDecodeParams& decode = params.decode;
  RECTO_RETURN_IF_ERROR(check_streamed({decode.q, decode.kv, decode.out}));
  return check_in_table("gqa_decode_table()", table(), decode.q, decode.kv.k);
}

std::int64_t gqa_blocks_per_sm(const SplitDecodeParams& params) {
  return blocks_per_sm(find_entry(table(), params.decode.q, params.decode.kv.k));
}

Status launch_gqa_decode(const SplitDecodeParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_splits(params));
  RECTO_RETURN_IF_ERROR(check_group_served(params));
  if (params.decode.q.num_rows == 0) return Status::ok();
  return find_entry(table(), params.decode.q, params.decode.kv.k)->launch(params, stream);
}

}  // namespace recto::kernels
