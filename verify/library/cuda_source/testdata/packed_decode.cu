// Paged decode attention over the packed layout, in one pass or in partitions with a reduce. It is
// written as CUDA extensions are, and knows nothing of recto: raw __shared__, inline PTX, framework
// headers, <<<>>>. It stands for the kernels that people bring.
//
//   q, out    [num_seqs, num_heads, head_size], float, half or bfloat16
//   k_cache   [num_blocks, num_kv_heads, head_size / x, block_size, x], x = 16 / sizeof(element)
//   v_cache   [num_blocks, num_kv_heads, head_size, block_size], of q's type, or e4m3 codes with a
//             scale for all of K and one for all of V

#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <float.h>
#include <stdint.h>

#include "pack.cuh"
#include "packed_decode.h"

#define WARP_SIZE 32
#define DIVIDE_ROUND_UP(a, b) (((a) + (b)-1) / (b))

namespace packed_attention {

// Reduces over the whole thread block, and synchronises it; `red` has room for one value per warp.
template <int NUM_WARPS, bool IS_MAX>
inline __device__ float block_reduce(float* red, float value) {
  const int warp = threadIdx.x / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask >= 1; mask /= 2) {
    const float other = __shfl_xor_sync(uint32_t(-1), value, mask);
    value = IS_MAX ? fmaxf(value, other) : value + other;
  }
  if (lane == 0) red[warp] = value;
  __syncthreads();
  value = lane < NUM_WARPS ? red[lane] : (IS_MAX ? -FLT_MAX : 0.f);
#pragma unroll
  for (int mask = NUM_WARPS / 2; mask >= 1; mask /= 2) {
    const float other = __shfl_xor_sync(uint32_t(-1), value, mask);
    value = IS_MAX ? fmaxf(value, other) : value + other;
  }
  return __shfl_sync(uint32_t(-1), value, 0);
}

// Grid: (num_heads, num_seqs, num_partitions). One partition is the whole context.
template <typename scalar_t, typename cache_t, typename out_t, typename Sums, int HEAD_SIZE,
          int BLOCK_SIZE, int NUM_THREADS>
__global__ void packed_decode_kernel(
    out_t* __restrict__ out,         // [num_seqs, num_heads, num_partitions, head_size]
    float* __restrict__ exp_sums,    // [num_seqs, num_heads, num_partitions]
    float* __restrict__ max_logits,  // [num_seqs, num_heads, num_partitions]
    const scalar_t* __restrict__ q, const cache_t* __restrict__ k_cache,
    const cache_t* __restrict__ v_cache, const int num_kv_heads, const float scale,
    const float v_scale, const float* __restrict__ alibi_slopes,  // [num_heads], or null
    const int* __restrict__ block_tables,  // [num_seqs, max_num_blocks_per_seq]
    const int* __restrict__ seq_lens,      // [num_seqs]
    const int max_num_blocks_per_seq, const int partition_size) {
  constexpr int NUM_WARPS = NUM_THREADS / WARP_SIZE;
  constexpr int X = Pack<cache_t>::kElements;
  const int head = blockIdx.x;
  const int seq = blockIdx.y;
  const int partition = blockIdx.z;
  const int num_heads = gridDim.x;
  const int num_partitions = gridDim.z;
  const int kv_head = head / (num_heads / num_kv_heads);
  const int seq_len = seq_lens[seq];
  const int start = partition * partition_size;
  const int end = min(start + partition_size, seq_len);
  if (start >= end && partition > 0) return;

  __shared__ __align__(16) scalar_t q_vec[HEAD_SIZE];
  __shared__ float red_shared_mem[2 * NUM_WARPS];
  extern __shared__ char shared_mem[];
  float* logits = reinterpret_cast<float*>(shared_mem);  // [partition_size]

  for (int i = threadIdx.x; i < HEAD_SIZE; i += NUM_THREADS) {
    q_vec[i] = q[(static_cast<int64_t>(seq) * num_heads + head) * HEAD_SIZE + i];
  }
  __syncthreads();

  const int* block_table = block_tables + seq * max_num_blocks_per_seq;
  const float slope = alibi_slopes == nullptr ? 0.f : alibi_slopes[head];
  float qk_max = -FLT_MAX;
  // One thread per token. Slots beyond the context are read and masked.
  for (int block = start / BLOCK_SIZE; block * BLOCK_SIZE < end; ++block) {
    const int64_t physical = block_table[block];
    for (int slot = threadIdx.x; slot < BLOCK_SIZE; slot += NUM_THREADS) {
      const cache_t* k = k_cache + (physical * num_kv_heads + kv_head) * HEAD_SIZE * BLOCK_SIZE;
      float qk = 0.f;
#pragma unroll
      for (int i = 0; i < HEAD_SIZE / X; ++i) {
        qk += Product<scalar_t, cache_t>::dot(q_vec + i * X, k + (i * BLOCK_SIZE + slot) * X);
      }
      const int token = block * BLOCK_SIZE + slot;
      const bool mask = token >= end;
      const float logit = scale * qk + slope * (token - seq_len + 1);
      logits[token - start] = mask ? 0.f : logit;
      qk_max = mask ? qk_max : fmaxf(qk_max, logit);
    }
  }
  qk_max = block_reduce<NUM_WARPS, true>(red_shared_mem, qk_max);

  float exp_sum = 0.f;
  for (int i = threadIdx.x; i < end - start; i += NUM_THREADS) {
    const float value = __expf(logits[i] - qk_max);
    logits[i] = value;
    exp_sum += value;
  }
  exp_sum = block_reduce<NUM_WARPS, false>(red_shared_mem + NUM_WARPS, exp_sum);
  const float inv_sum = __fdividef(1.f, fmaxf(exp_sum, FLT_MIN));
  if (threadIdx.x == 0) {
    const int64_t at = (static_cast<int64_t>(seq) * num_heads + head) * num_partitions + partition;
    exp_sums[at] = exp_sum;
    max_logits[at] = qk_max;
  }

  // One thread per element of the head. All weights are written: block_reduce has synchronised
  // since.
  for (int row = threadIdx.x; row < HEAD_SIZE; row += NUM_THREADS) {
    float acc = 0.f;
    for (int block = start / BLOCK_SIZE; block * BLOCK_SIZE < end; ++block) {
      const int64_t physical = block_table[block];
      const cache_t* v =
          v_cache + ((physical * num_kv_heads + kv_head) * HEAD_SIZE + row) * BLOCK_SIZE;
      const int count = min(BLOCK_SIZE, end - block * BLOCK_SIZE);
      acc += Sums::weigh(logits + block * BLOCK_SIZE - start, v, count);
    }
    const int64_t at =
        ((static_cast<int64_t>(seq) * num_heads + head) * num_partitions + partition);
    out[at * HEAD_SIZE + row] = Pack<out_t>::from_float(acc * inv_sum * v_scale);
  }
}

// Grid: (num_heads, num_seqs).
template <typename scalar_t, int HEAD_SIZE, int NUM_THREADS>
__global__ void packed_decode_reduce_kernel(
    scalar_t* __restrict__ out,            // [num_seqs, num_heads, head_size]
    const float* __restrict__ exp_sums,    // [num_seqs, num_heads, max_num_partitions]
    const float* __restrict__ max_logits,  // the same
    const float* __restrict__ tmp_out,     // [num_seqs, num_heads, max_num_partitions, head_size]
    const int* __restrict__ seq_lens, const int max_num_partitions, const int partition_size) {
  constexpr int NUM_WARPS = NUM_THREADS / WARP_SIZE;
  const int64_t at = static_cast<int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  const int num_partitions = max(1, DIVIDE_ROUND_UP(seq_lens[blockIdx.y], partition_size));
  __shared__ float red_shared_mem[2 * NUM_WARPS];
  extern __shared__ char shared_mem[];
  float* shared_weights = reinterpret_cast<float*>(shared_mem);  // [max_num_partitions]

  float max_logit = -FLT_MAX;
  for (int i = threadIdx.x; i < num_partitions; i += NUM_THREADS) {
    max_logit = fmaxf(max_logit, max_logits[at * max_num_partitions + i]);
  }
  max_logit = block_reduce<NUM_WARPS, true>(red_shared_mem, max_logit);
  float global_sum = 0.f;
  for (int i = threadIdx.x; i < num_partitions; i += NUM_THREADS) {
    const float weight = exp_sums[at * max_num_partitions + i] *
                         __expf(max_logits[at * max_num_partitions + i] - max_logit);
    shared_weights[i] = weight;
    global_sum += weight;
  }
  // It also synchronises: all weights are written after it.
  global_sum = block_reduce<NUM_WARPS, false>(red_shared_mem + NUM_WARPS, global_sum);
  const float inv_global_sum = __fdividef(1.f, fmaxf(global_sum, FLT_MIN));
  for (int row = threadIdx.x; row < HEAD_SIZE; row += NUM_THREADS) {
    float acc = 0.f;
    for (int i = 0; i < num_partitions; ++i) {
      const float value = tmp_out[(at * max_num_partitions + i) * HEAD_SIZE + row];
      acc += value * shared_weights[i] * inv_global_sum;
    }
    out[at * HEAD_SIZE + row] = Pack<scalar_t>::from_float(acc);
  }
}

}  // namespace packed_attention

template <typename T, typename Cache, typename Sums, int HEAD_SIZE, int BLOCK_SIZE>
void packed_decode_launcher(torch::Tensor& out, torch::Tensor& exp_sums, torch::Tensor& max_logits,
                            torch::Tensor& tmp_out, torch::Tensor& query, torch::Tensor& key_cache,
                            torch::Tensor& value_cache, double scale, torch::Tensor& block_tables,
                            torch::Tensor& seq_lens, int64_t max_seq_len, int64_t partition_size,
                            const CacheOptions& options) {
  constexpr int NUM_THREADS = 128;
  const int num_seqs = query.size(0);
  const int num_heads = query.size(1);
  const int num_kv_heads = key_cache.size(1);
  const int max_num_blocks_per_seq = block_tables.size(1);
  const bool is_one_pass = partition_size <= 0;
  const int padded_len = DIVIDE_ROUND_UP(max_seq_len, BLOCK_SIZE) * BLOCK_SIZE;
  const int keys = is_one_pass ? max(padded_len, BLOCK_SIZE) : static_cast<int>(partition_size);
  const int num_partitions =
      is_one_pass ? 1 : max(1, static_cast<int>(DIVIDE_ROUND_UP(max_seq_len, partition_size)));
  dim3 block(NUM_THREADS);
  dim3 grid(num_heads, num_seqs, num_partitions);
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  const int shared_bytes = keys * sizeof(float);
  const float* slopes =
      options.alibi_slopes ? options.alibi_slopes->data_ptr<float>() : nullptr;
  const float v_scale = static_cast<float>(options.v_scale);
  const auto* k = static_cast<const Cache*>(key_cache.data_ptr());
  const auto* v = static_cast<const Cache*>(value_cache.data_ptr());
  if (is_one_pass) {
    packed_attention::packed_decode_kernel<T, Cache, T, Sums, HEAD_SIZE, BLOCK_SIZE, NUM_THREADS>
        <<<grid, block, shared_bytes, stream>>>(
            out.data_ptr<T>(), exp_sums.data_ptr<float>(), max_logits.data_ptr<float>(),
            query.data_ptr<T>(), k, v, num_kv_heads, static_cast<float>(scale * options.k_scale),
            v_scale, slopes, block_tables.data_ptr<int>(), seq_lens.data_ptr<int>(),
            max_num_blocks_per_seq, keys);
    return;
  }
  packed_attention::packed_decode_kernel<T, Cache, float, Sums, HEAD_SIZE, BLOCK_SIZE, NUM_THREADS>
      <<<grid, block, shared_bytes, stream>>>(
          tmp_out.data_ptr<float>(), exp_sums.data_ptr<float>(), max_logits.data_ptr<float>(),
          query.data_ptr<T>(), k, v, num_kv_heads, static_cast<float>(scale * options.k_scale),
          v_scale, slopes, block_tables.data_ptr<int>(), seq_lens.data_ptr<int>(),
          max_num_blocks_per_seq, keys);
  dim3 reduce_grid(num_heads, num_seqs);
  packed_attention::packed_decode_reduce_kernel<T, HEAD_SIZE, NUM_THREADS>
      <<<reduce_grid, block, num_partitions * sizeof(float), stream>>>(
          out.data_ptr<T>(), exp_sums.data_ptr<float>(), max_logits.data_ptr<float>(),
          tmp_out.data_ptr<float>(), seq_lens.data_ptr<int>(), num_partitions, keys);
}

#define CALL_LAUNCHER(T, CACHE, SUMS, HEAD_SIZE, BLOCK_SIZE)                                  \
  packed_decode_launcher<T, CACHE, packed_attention::SUMS, HEAD_SIZE, BLOCK_SIZE>(            \
      out, exp_sums, max_logits, tmp_out, query, key_cache, value_cache, scale, block_tables, \
      seq_lens, max_seq_len, partition_size, options)

#define CALL_BLOCK_SIZE(T, CACHE, SUMS, HEAD_SIZE)  \
  switch (block_size) {                             \
    case 8:                                         \
      CALL_LAUNCHER(T, CACHE, SUMS, HEAD_SIZE, 8);  \
      break;                                        \
    case 16:                                        \
      CALL_LAUNCHER(T, CACHE, SUMS, HEAD_SIZE, 16); \
      break;                                        \
    case 32:                                        \
      CALL_LAUNCHER(T, CACHE, SUMS, HEAD_SIZE, 32); \
      break;                                        \
  }

#define CALL_HEAD_SIZE(T, CACHE, SUMS)    \
  if (head_size == 64) {                  \
    CALL_BLOCK_SIZE(T, CACHE, SUMS, 64);  \
  } else {                                \
    CALL_BLOCK_SIZE(T, CACHE, SUMS, 128); \
  }

// Head size 64 or 128, block size 8, 16 or 32. partition_size 0: one pass.
// half_sums: the product with the values is summed in half precision.
void packed_decode(torch::Tensor& out, torch::Tensor& exp_sums, torch::Tensor& max_logits,
                   torch::Tensor& tmp_out, torch::Tensor& query, torch::Tensor& key_cache,
                   torch::Tensor& value_cache, double scale, torch::Tensor& block_tables,
                   torch::Tensor& seq_lens, int64_t block_size, int64_t max_seq_len,
                   int64_t partition_size, bool half_sums, const CacheOptions& options) {
  const at::ScalarType type = query.scalar_type();
  const bool is_fp8 = key_cache.scalar_type() == at::ScalarType::Float8_e4m3fn;
  const int64_t head_size = query.size(2);
  TORCH_CHECK(head_size == 64 || head_size == 128, "unsupported head size: ", head_size);
  TORCH_CHECK(block_size == 8 || block_size == 16 || block_size == 32,
              "unsupported block size: ", block_size);
  TORCH_CHECK(is_fp8 ? type != at::ScalarType::Float : key_cache.scalar_type() == type,
              "unsupported types");
  if (type == at::ScalarType::Half && half_sums && !is_fp8) {
    CALL_HEAD_SIZE(half, half, HalfSums);
  } else if (type == at::ScalarType::Half && is_fp8) {
    CALL_HEAD_SIZE(half, __nv_fp8_e4m3, FloatSums);
  } else if (type == at::ScalarType::Half) {
    CALL_HEAD_SIZE(half, half, FloatSums);
  } else if (type == at::ScalarType::BFloat16 && is_fp8) {
    CALL_HEAD_SIZE(__nv_bfloat16, __nv_fp8_e4m3, FloatSums);
  } else if (type == at::ScalarType::BFloat16) {
    CALL_HEAD_SIZE(__nv_bfloat16, __nv_bfloat16, FloatSums);
  } else {
    CALL_HEAD_SIZE(float, float, FloatSums);
  }
}

#ifdef TORCH_EXTENSION_NAME
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("packed_decode", &packed_decode); }
#endif
