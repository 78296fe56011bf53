// Passes recto's decode calls to vLLM's paged_attention_v1 or, with -DVLLM_V2, paged_attention_v2.
// Their launchers run unchanged; only the dispatch over types is not used, since it would compile
// some five hundred kernels.

#include <quantization/fp8/nvidia/quant_utils.cuh>

#undef DISPATCH_BY_KV_CACHE_DTYPE
#define DISPATCH_BY_KV_CACHE_DTYPE(...)

#ifdef VLLM_V2
#include <attention/paged_attention_v2.cu>
#else
#include <attention/paged_attention_v1.cu>
#endif

#include <recto_cuda_adapter.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace {

#ifdef VLLM_V2
constexpr bool kIsPartitioned = true;
constexpr const char* kName = "vllm-v2";
#else
constexpr bool kIsPartitioned = false;
constexpr const char* kName = "vllm-v1";
#endif
constexpr int64_t kPartitionSize = 512;  // the launcher's own
constexpr int64_t kHeadSizes[] = {32, 64, 80, 96, 112, 120, 128, 192, 256};

// The reason by which skipped cases are counted; null if the case is supported.
const char* why_unsupported(const RectoAttentionCall& call) {
  const RectoKvTensor& k = call.k;
  const RectoKvTensor& v = call.v;
  if (call.q.type == kRectoFp32 || k.type != call.q.type) return "types other than fp16 and bf16";
  if (k.layout != kRectoPacked) return "layouts other than packed";
  if (k.head_dim != v.head_dim) return "values with a head dim of their own";
  if (std::ranges::find(kHeadSizes, k.head_dim) == std::end(kHeadSizes)) {
    return "head dims that vLLM does not list";
  }
  if (k.block_size != 8 && k.block_size != 16 && k.block_size != 32) {
    return "block sizes other than 8, 16 and 32";
  }
  if (k.block_stride != v.block_stride || k.head_stride != v.head_stride) {
    return "other strides of V than of K";
  }
  if (k.slot_stride != k.pack_width || k.pack_stride != k.block_size * k.pack_width ||
      v.pack_stride != v.block_size) {
    return "gaps between slots or packs";
  }
  if (call.q.head_stride != call.q.head_dim) return "gaps between heads of queries";
  if (call.out.head_stride != call.out.head_dim ||
      call.out.row_stride != call.out.num_heads * call.out.head_dim) {
    return "results with gaps";
  }
  if ((call.q.row_stride | k.block_stride | k.head_stride) % 8 != 0) {
    return "vectors that are not aligned to 16 bytes";
  }
  if (call.softcap != 0 || call.window != 0) return "softcap and windows";
  if (call.sinks != nullptr) return "sinks";
  return nullptr;
}

at::ScalarType type_of(int32_t type) { return type == kRectoBf16 ? at::kBFloat16 : at::kHalf; }

struct Tensors {
  torch::Tensor out, exp_sums, max_logits, tmp_out, query, keys, values, tables, lengths, scale;
  std::optional<torch::Tensor> slopes;
  int kv_heads;
  float softmax_scale;
  int longest;
};

template <typename T, int kBlockSize>
void launch(Tensors& t) {
  constexpr auto kType = vllm::Fp8KVCacheDataType::kAuto;
#ifdef VLLM_V2
  paged_attention_v2_launcher<T, T, kBlockSize, kType, false>(
      t.out, t.exp_sums, t.max_logits, t.tmp_out, t.query, t.keys, t.values, t.kv_heads,
      t.softmax_scale, t.tables, t.lengths, t.longest, t.slopes, t.scale, t.scale, 0, 0, 0, 0, 0);
#else
  paged_attention_v1_launcher<T, T, kBlockSize, kType, false>(
      t.out, t.query, t.keys, t.values, t.kv_heads, t.softmax_scale, t.tables, t.lengths, t.longest,
      t.slopes, t.scale, t.scale, 0, 0, 0, 0, 0);
#endif
}

template <typename T>
void launch(Tensors& tensors, int64_t block_size) {
  if (block_size == 8) return launch<T, 8>(tensors);
  if (block_size == 16) return launch<T, 16>(tensors);
  launch<T, 32>(tensors);
}

torch::Tensor pool(const RectoKvTensor& cache) {
  return {const_cast<void*>(cache.data),
          type_of(cache.type),
          {cache.num_blocks, cache.num_kv_heads, cache.head_dim, cache.block_size},
          {cache.block_stride, cache.head_stride, cache.block_size, 1}};
}

int32_t decode(const RectoAttentionCall* call) {
  if (const char* why = why_unsupported(*call)) return recto::unsupported(call->context, why);
  const int64_t seqs = call->num_seqs;
  const int64_t heads = call->q.num_heads;
  const int64_t dim = call->q.head_dim;
  if (seqs == 0) return kRectoOk;
  const int64_t longest = std::max<int64_t>(1, call->max_context_length);
  const int64_t parts = kIsPartitioned ? (longest + kPartitionSize - 1) / kPartitionSize : 1;
  const at::ScalarType type = type_of(call->q.type);

  recto::CheckedCall checked(*call);
  float* sums = nullptr;
  float* maxima = nullptr;
  uint16_t* partial = nullptr;
  if (kIsPartitioned) {
    sums = checked.workspace<float>("exp_sums", seqs * heads * parts);
    maxima = checked.workspace<float>("max_logits", seqs * heads * parts);
    partial = checked.workspace<uint16_t>("tmp_out", seqs * heads * parts * dim);
  }
  // Grids are (heads, sequences, partitions).
  std::vector<uint32_t> sequences;
  for (int64_t i = 0; i < heads * seqs * parts; ++i) sequences.push_back(i / heads % seqs);
  checked.set_sequence_of_thread_block(sequences);

  return checked.run([&] {
    Tensors tensors = {.out = {call->out.data, type, {seqs, heads, dim}},
                       .exp_sums = {sums, at::kFloat, {seqs, heads, parts}},
                       .max_logits = {maxima, at::kFloat, {seqs, heads, parts}},
                       .tmp_out = {partial, type, {seqs, heads, parts, dim}},
                       .query = {const_cast<void*>(call->q.data),
                                 type,
                                 {seqs, heads, dim},
                                 {call->q.row_stride, dim, 1}},
                       .keys = pool(call->k),
                       .values = pool(call->v),
                       .tables = {const_cast<int32_t*>(call->block_table),
                                  at::kInt,
                                  {seqs, call->block_table_row_stride}},
                       .lengths = {const_cast<int32_t*>(call->context_length), at::kInt, {seqs}},
                       .scale = {},
                       .slopes = {},
                       .kv_heads = static_cast<int>(call->k.num_kv_heads),
                       .softmax_scale = call->scale,
                       .longest = static_cast<int>(longest)};
    if (call->alibi_slopes != nullptr) {
      tensors.slopes.emplace(const_cast<float*>(call->alibi_slopes), at::kFloat,
                             std::vector<int64_t>{heads});
    }
    if (type == at::kBFloat16) {
      launch<__nv_bfloat16>(tensors, call->k.block_size);
    } else {
      launch<uint16_t>(tensors, call->k.block_size);
    }
  });
}

// The extension returns no log-sum-exp.
const RectoKernelTable kTable = {.struct_bytes = sizeof(RectoKernelTable),
                                 .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                 .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                 .name = kName,
                                 .memories = kRectoHostMemory,
                                 .reserved = 0,
                                 .decode = decode,
                                 .prefill = nullptr,
                                 .kv_write = nullptr,
                                 .features = kRectoWithoutLseLn};

}  // namespace

const RectoKernelTable* recto_kernel_table() { return &kTable; }
