// Passes recto's decode calls to packed_decode.cu, in one pass or, with -DPARTITION_SIZE=64, in
// partitions with a reduce.

#include <recto_cuda_adapter.h>
#include <torch/extension.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "packed_decode.h"

#ifndef PARTITION_SIZE
#define PARTITION_SIZE 0
#endif
#ifndef HALF_SUMS
#define HALF_SUMS false
#endif

namespace {

constexpr int64_t kPartitionSize = PARTITION_SIZE;  // 0: one pass

// The reason by which skipped cases are counted; null if the case is supported.
const char* why_unsupported(const RectoAttentionCall& call) {
  const RectoKvTensor& k = call.k;
  const RectoKvTensor& v = call.v;
  const bool is_fp8 = k.type == kRectoE4m3 && call.q.type != kRectoFp32;
  if (!is_fp8 && k.type != call.q.type) return "types other than q's own, or e4m3 with fp32";
  if (k.scale_kind == kRectoScalePerKvHead || v.scale_kind == kRectoScalePerKvHead) {
    return "a scale for each head";
  }
  if (k.layout != kRectoPacked) return "layouts other than packed";
  if (k.head_dim != v.head_dim || (k.head_dim != 64 && k.head_dim != 128)) {
    return "head dims other than 64 and 128";
  }
  if (k.block_size != 8 && k.block_size != 16 && k.block_size != 32) {
    return "block sizes other than 8, 16 and 32";
  }
  const int64_t block = k.num_kv_heads * k.head_dim * k.block_size;
  if (k.block_stride != block || v.block_stride != block) return "pools with gaps";
  if (call.q.row_stride != call.q.num_heads * call.q.head_dim ||
      call.q.head_stride != call.q.head_dim) {
    return "queries with gaps";
  }
  if (call.out.row_stride != call.out.num_heads * call.out.head_dim ||
      call.out.head_stride != call.out.head_dim) {
    return "results with gaps";
  }
  if (call.softcap != 0 || call.window != 0) return "softcap and windows";
  if (call.sinks != nullptr) return "sinks";
  return nullptr;
}

at::ScalarType type_of(int32_t type) {
  if (type == kRectoE4m3) return at::ScalarType::Float8_e4m3fn;
  if (type == kRectoBf16) return at::kBFloat16;
  return type == kRectoFp16 ? at::kHalf : at::kFloat;
}

CacheOptions options_of(const RectoAttentionCall& call) {
  CacheOptions options;
  if (call.k.scale != nullptr) options.k_scale = *call.k.scale;
  if (call.v.scale != nullptr) options.v_scale = *call.v.scale;
  if (call.alibi_slopes != nullptr) {
    options.alibi_slopes.emplace(const_cast<float*>(call.alibi_slopes), at::kFloat,
                                 std::vector<int64_t>{call.q.num_heads});
  }
  return options;
}

torch::Tensor pool(const RectoKvTensor& cache) {
  return {const_cast<void*>(cache.data),
          type_of(cache.type),
          {cache.num_blocks, cache.num_kv_heads, cache.head_dim, cache.block_size}};
}

int64_t partitions_of(int64_t keys) {
  if constexpr (kPartitionSize > 0) {
    return std::max<int64_t>(1, (keys + kPartitionSize - 1) / kPartitionSize);
  }
  return 1;
}

// The extension returns no log-sum-exp, but the maxima and sums to compute it.
float log_sum_exp(const float* maxima, const float* sums, int64_t count) {
  const float top = *std::max_element(maxima, maxima + count);
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += sums[i] * std::exp(maxima[i] - top);
  return top + std::log(sum);
}

int32_t decode(const RectoAttentionCall* call) {
  if (const char* why = why_unsupported(*call)) return recto::unsupported(call->context, why);
  const int64_t seqs = call->num_seqs;
  const int64_t heads = call->q.num_heads;
  const int64_t dim = call->q.head_dim;
  if (seqs == 0) return kRectoOk;
  const int64_t longest = std::max<int64_t>(1, call->max_context_length);
  const int64_t parts = partitions_of(longest);
  const at::ScalarType type = type_of(call->q.type);

  recto::CheckedCall checked(*call);
  float* sums = checked.workspace<float>("exp_sums", seqs * heads * parts);
  float* maxima = checked.workspace<float>("max_logits", seqs * heads * parts);
  float* partial = checked.workspace<float>("tmp_out", seqs * heads * parts * dim);
  // Grids are (heads, sequences, partitions).
  std::vector<uint32_t> sequences;
  for (int64_t i = 0; i < heads * seqs * parts; ++i) sequences.push_back(i / heads % seqs);
  checked.set_sequence_of_thread_block(sequences);

  const int32_t status = checked.run([&] {
    torch::Tensor out(call->out.data, type, {seqs, heads, dim});
    torch::Tensor exp_sums(sums, at::kFloat, {seqs, heads, parts});
    torch::Tensor max_logits(maxima, at::kFloat, {seqs, heads, parts});
    torch::Tensor tmp_out(partial, at::kFloat, {seqs, heads, parts, dim});
    torch::Tensor query(const_cast<void*>(call->q.data), type, {seqs, heads, dim});
    torch::Tensor keys = pool(call->k);
    torch::Tensor values = pool(call->v);
    torch::Tensor tables(const_cast<int32_t*>(call->block_table), at::kInt,
                         {seqs, call->block_table_row_stride});
    torch::Tensor lengths(const_cast<int32_t*>(call->context_length), at::kInt, {seqs});
    packed_decode(out, exp_sums, max_logits, tmp_out, query, keys, values, call->scale, tables,
                  lengths, call->k.block_size, longest, kPartitionSize, HALF_SUMS, options_of(*call));
  });
  if (status != kRectoOk) return status;

  for (int64_t row = 0; row < seqs * heads; ++row) {
    const int64_t used = partitions_of(call->context_length[row / heads]);
    call->lse_ln[row] = log_sum_exp(maxima + row * parts, sums + row * parts, used);
  }
  return kRectoOk;
}

const RectoKernelTable kTable = {
    sizeof(RectoKernelTable),
    RECTO_KERNEL_ABI_MAJOR,
    RECTO_KERNEL_ABI_MINOR,
    kPartitionSize == 0 ? "packed-decode" : "packed-decode-partitioned",
    kRectoHostMemory,
    0,
    decode,
    nullptr,
    nullptr};

}  // namespace

const RectoKernelTable* recto_kernel_table() { return &kTable; }
