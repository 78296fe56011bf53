// Launches row_decode as a template library: the source is only a header. With ROW_DECODE_BY_NAME,
// launches it by its name, in PTX.

#include <recto_cuda_adapter.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#ifdef ROW_DECODE_BY_NAME
#include "row_decode.h"
#else
#include "row_decode.cuh"
#endif

static const char* why_unsupported(const RectoAttentionCall& call) {
  if (call.q.type != kRectoFp32) return "types other than fp32";
  if (call.k.layout == kRectoPacked) return "the packed layout";
  if (call.k.head_dim != call.v.head_dim) return "values with a head dim of their own";
  if (call.softcap != 0 || call.window != 0) return "softcap and windows";
  if (call.alibi_slopes != nullptr || call.sinks != nullptr) return "ALiBi and sinks";
  if (call.q.row_stride != call.q.num_heads * call.q.head_dim) return "queries with gaps";
  if (call.q.head_stride != call.q.head_dim) return "queries with gaps";
  if (call.out.row_stride != call.out.num_heads * call.out.head_dim) return "results with gaps";
  if (call.out.head_stride != call.out.head_dim) return "results with gaps";
  return nullptr;
}

// Whether the library writes no lse_ln, and says so.
static bool is_without_lse_ln() { return std::getenv("ROW_DECODE_WITHOUT_LSE_LN") != nullptr; }

static int32_t decode(const RectoAttentionCall* call) {
  if (const char* why = why_unsupported(*call)) return recto::unsupported(call->context, why);
  if (call->num_seqs == 0) return kRectoOk;
  const char* fault = std::getenv("ROW_DECODE_FAULT");
  recto::CheckedCall checked(*call);
  const int64_t rows = call->q.num_rows * call->q.num_heads;
  RowDecode row = {};
  row.q = static_cast<const float*>(call->q.data);
  row.k = static_cast<const float*>(call->k.data);
  row.v = static_cast<const float*>(call->v.data);
  row.table = call->block_table;
  row.lengths = call->context_length;
  row.out = static_cast<float*>(call->out.data);
  row.scratch = checked.workspace<float>("scratch", rows + 1);
  row.row_stride = call->q.row_stride;
  row.head_stride = call->q.head_stride;
  row.table_stride = call->block_table_row_stride;
  row.k_block = call->k.block_stride;
  row.k_head = call->k.head_stride;
  row.k_slot = call->k.slot_stride;
  row.v_block = call->v.block_stride;
  row.v_head = call->v.head_stride;
  row.v_slot = call->v.slot_stride;
  row.num_heads = static_cast<int>(call->q.num_heads);
  row.group = static_cast<int>(call->q.num_heads / call->k.num_kv_heads);
  row.dim = static_cast<int>(call->q.head_dim);
  row.block_size = static_cast<int>(call->k.block_size);
  row.scale = call->scale;
  row.fault = fault == nullptr ? kNoFault : std::atoi(fault);
  std::vector<uint32_t> sequences;
  for (int64_t i = 0; i < rows; ++i) {
    sequences.push_back(static_cast<uint32_t>(i / call->q.num_heads));
  }
  checked.set_sequence_of_thread_block(sequences);
  const auto heads = static_cast<unsigned>(call->q.num_heads);
  const auto seqs = static_cast<unsigned>(call->num_seqs);
  const auto threads = static_cast<unsigned>((row.dim + 31) / 32 * 32);
  const int32_t status = checked.run([&] {
#ifdef ROW_DECODE_BY_NAME
    recto::launch("row_decode", {heads, seqs}, {threads}, 0, row);
#else
    row_decode<<<dim3(heads, seqs), threads>>>(row);
#endif
  });
  if (status != kRectoOk || is_without_lse_ln()) return status;
  for (int64_t i = 0; i < rows; ++i) call->lse_ln[i] = row.scratch[i];
  return kRectoOk;
}

const RectoKernelTable* recto_kernel_table() {
  const uint64_t features = is_without_lse_ln() ? uint64_t{kRectoWithoutLseLn} : 0;
  static const RectoKernelTable table = {.struct_bytes = sizeof(RectoKernelTable),
                                         .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                         .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                         .name = "row-decode",
                                         .memories = kRectoHostMemory,
                                         .reserved = 0,
                                         .decode = decode,
                                         .prefill = nullptr,
                                         .kv_write = nullptr,
                                         .features = features};
  return &table;
}
