// A kernel library for device memory: attention and KV write in fp32, a thread for each row and
// head. nvcc -shared -Xcompiler=-fPIC -I. makes a library of it; recto_on_gpu verify --kernel puts
// it to every law.

#include <cuda_runtime.h>

#include <cstdio>

#include "verify/library/recto_kernel.h"

namespace {

constexpr int kThreads = 128;
constexpr int kHeadDimMax = 256;

template <typename Tensor>
__device__ int64_t offset_of(const Tensor& cache, int64_t block, int64_t head, int64_t slot) {
  return block * cache.block_stride + head * cache.head_stride + slot * cache.slot_stride;
}

template <typename Tensor>
__device__ int64_t dim_of(const Tensor& cache, int64_t dim) {
  if (cache.layout != kRectoPacked) return dim;
  return dim / cache.pack_width * cache.pack_stride + dim % cache.pack_width;
}

// A row's sequence, and the key that it stands at.
struct Place {
  int64_t sequence;
  int64_t context;
  int64_t position;
};

__device__ Place place_of(const RectoAttentionCall& call, int64_t row) {
  int64_t sequence = row;
  int64_t first = row;
  int64_t rows = 1;
  if (call.query_start != nullptr) {
    sequence = 0;
    while (call.query_start[sequence + 1] <= row) ++sequence;
    first = call.query_start[sequence];
    rows = call.query_start[sequence + 1] - first;
  }
  const int64_t context = call.context_length[sequence];
  return {sequence, context, context - rows + (row - first)};
}

__device__ float score_of(const RectoAttentionCall& call, const float* q, const float* k,
                          int64_t head, int64_t distance) {
  float score = 0;
  for (int64_t dim = 0; dim < call.k.head_dim; ++dim) score += q[dim] * k[dim_of(call.k, dim)];
  score *= call.scale;
  if (call.softcap > 0) score = call.softcap * tanhf(score / call.softcap);
  if (call.alibi_slopes != nullptr) score += call.alibi_slopes[head] * static_cast<float>(distance);
  return score;
}

__global__ void attend(RectoAttentionCall call) {
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= call.q.num_rows * call.q.num_heads) return;
  const int64_t row = index / call.q.num_heads;
  const int64_t head = index % call.q.num_heads;
  const int64_t kv_head = head / (call.q.num_heads / call.k.num_kv_heads);
  const Place place = place_of(call, row);
  const float* const q =
      static_cast<const float*>(call.q.data) + row * call.q.row_stride + head * call.q.head_stride;
  const int32_t* const blocks = call.block_table + place.sequence * call.block_table_row_stride;
  const bool has_sink = call.sinks != nullptr;
  float max = has_sink ? call.sinks[head] : -INFINITY;
  float sum = has_sink ? 1.0F : 0.0F;
  float out[kHeadDimMax] = {};
  const int64_t first = call.window > 0 ? place.position - call.window + 1 : 0;
  const int64_t end = call.causal != 0 ? place.position + 1 : place.context;
  for (int64_t j = first > 0 ? first : 0; j < end && j < place.context; ++j) {
    const int64_t block = blocks[j / call.k.block_size];
    const int64_t slot = j % call.k.block_size;
    const float* const k =
        static_cast<const float*>(call.k.data) + offset_of(call.k, block, kv_head, slot);
    const float* const v =
        static_cast<const float*>(call.v.data) + offset_of(call.v, block, kv_head, slot);
    const float score = score_of(call, q, k, head, j - place.position);
    const float above = fmaxf(max, score);
    const float rescale = max == -INFINITY ? 0.0F : expf(max - above);
    const float weight = expf(score - above);
    max = above;
    sum = sum * rescale + weight;
    for (int64_t dim = 0; dim < call.v.head_dim; ++dim)
      out[dim] = out[dim] * rescale + weight * v[dim_of(call.v, dim)];
  }
  float* const to =
      static_cast<float*>(call.out.data) + row * call.out.row_stride + head * call.out.head_stride;
  for (int64_t dim = 0; dim < call.v.head_dim; ++dim) to[dim] = sum > 0 ? out[dim] / sum : 0.0F;
  call.lse_ln[index] = sum > 0 ? max + logf(sum) : -INFINITY;
}

__device__ void write_row(const RectoRows& rows, const RectoMutableKvTensor& cache, int64_t token,
                          int64_t head, int64_t slot) {
  const float* const from =
      static_cast<const float*>(rows.data) + token * rows.row_stride + head * rows.head_stride;
  float* const to = static_cast<float*>(cache.data) +
                    offset_of(cache, slot / cache.block_size, head, slot % cache.block_size);
  for (int64_t dim = 0; dim < cache.head_dim; ++dim) to[dim_of(cache, dim)] = from[dim];
}

__global__ void write(RectoKvWriteCall call) {
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t heads = call.k_cache.num_kv_heads;
  if (index >= call.num_tokens * heads) return;
  const int64_t token = index / heads;
  const int64_t slot = call.slot_mapping[token];
  if (slot < 0) return;
  write_row(call.k, call.k_cache, token, index % heads, slot);
  write_row(call.v, call.v_cache, token, index % heads, slot);
}

int32_t say(const RectoCallContext& context, const char* words, int32_t status) {
  snprintf(context.message, static_cast<size_t>(context.message_bytes), "%s", words);
  return status;
}

// Launches the kernel with as many threads.
template <typename Call>
int32_t launch(void (*kernel)(Call), const Call& call, int64_t threads) {
  if (threads == 0) return kRectoOk;
  const auto thread_blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  kernel<<<thread_blocks, kThreads, 0, static_cast<cudaStream_t>(call.context.stream)>>>(call);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? kRectoOk
                              : say(call.context, cudaGetErrorString(error), kRectoFailed);
}

int32_t attention(const RectoAttentionCall* call) {
  if (call->q.type != kRectoFp32) return say(call->context, "types but fp32", kRectoUnsupported);
  if (call->v.head_dim > kHeadDimMax)
    return say(call->context, "head dims beyond 256", kRectoUnsupported);
  return launch(attend, *call, call->q.num_rows * call->q.num_heads);
}

int32_t kv_write(const RectoKvWriteCall* call) {
  if (call->k.type != kRectoFp32 || call->k_cache.type != kRectoFp32)
    return say(call->context, "types but fp32", kRectoUnsupported);
  return launch(write, *call, call->num_tokens * call->k_cache.num_kv_heads);
}

}  // namespace

extern "C" const RectoKernelTable* recto_kernel_table(void) {
  static RectoKernelTable table = {};
  table.struct_bytes = sizeof(RectoKernelTable);
  table.abi_major = RECTO_KERNEL_ABI_MAJOR;
  table.abi_minor = RECTO_KERNEL_ABI_MINOR;
  table.name = "device fp32";
  table.memories = kRectoDeviceMemory;
  table.decode = attention;
  table.prefill = attention;
  table.kv_write = kv_write;
  return &table;
}
