// Passes recto's calls to FlashAttention-2's split-KV kernel: decode as flash_attn_with_kvcache
// does, prefill as flash_attn_varlen_func does, both with a block table. With -DFEWER_KERNELS,
// one attention kernel in twelve: fp16 alone, without softcap, windows and ALiBi.

#define FLASHATTENTION_DISABLE_UNEVEN_K  // head dims are those of compiled kernels
#ifdef FEWER_KERNELS
#define FLASHATTENTION_DISABLE_ALIBI
#define FLASHATTENTION_DISABLE_LOCAL
#define FLASHATTENTION_DISABLE_SOFTCAP
#endif
#include <static_switch.h>

#include <string_view>

// Kernels that append keys, or that take equally long contexts, are never launched here, and would
// more than double the time of compiling.
constexpr bool is_always_false(std::string_view name) {
  return name == "Append_KV" || name == "IsEvenMNConst";
}
#undef BOOL_SWITCH
#define BOOL_SWITCH(condition, NAME, ...)    \
  [&] {                                      \
    if constexpr (!is_always_false(#NAME)) { \
      if (condition) {                       \
        constexpr static bool NAME = true;   \
        return __VA_ARGS__();                \
      }                                      \
    }                                        \
    constexpr static bool NAME = false;      \
    return __VA_ARGS__();                    \
  }()

#include <flash_fwd_launch_template.h>

#include <recto_cuda_adapter.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#ifndef ADAPTER_HEAD_DIM
#define ADAPTER_HEAD_DIM 64
#endif
#ifndef SPLITS
#define SPLITS 4
#endif

namespace {

using flash::Flash_fwd_params;

constexpr int kHeadDim = ADAPTER_HEAD_DIM;
constexpr int kSplits = SPLITS;  // decode's num_splits, which callers may choose
// The kernel that combines splits writes the log-sum-exps of a whole tile of rows, and so up to 15
// floats behind the last. That is within what PyTorch's allocator rounds up to. With -DEXACT_LSE
// the memory ends with the last row, and recto reports it.
#ifdef EXACT_LSE
constexpr int kLseMultiple = 1;
#else
constexpr int kLseMultiple = 128;
#endif

// The reason by which skipped cases are counted; null if the case is supported.
const char* why_unsupported(const RectoAttentionCall& call) {
  const RectoKvTensor& k = call.k;
  const RectoKvTensor& v = call.v;
  if (call.q.type == kRectoFp32 || k.type != call.q.type) return "types other than fp16 and bf16";
  if (k.layout != kRectoTokenMajor) return "layouts other than token-major";
  if (k.head_dim != kHeadDim || v.head_dim != kHeadDim) {
    return "head dims for which this was not compiled";
  }
  if (k.block_size % 256 != 0) return "block sizes that are no multiple of 256";
  const int64_t strides = call.q.row_stride | call.q.head_stride | k.block_stride | k.head_stride |
                          k.slot_stride | v.block_stride | v.head_stride | v.slot_stride |
                          call.out.row_stride | call.out.head_stride;
  if (strides % 8 != 0) return "vectors that are not aligned to 16 bytes";
  if (call.sinks != nullptr) return "sinks";
#ifdef FEWER_KERNELS
  if (call.q.type != kRectoFp16 || call.softcap > 0 || call.window > 0 ||
      call.alibi_slopes != nullptr) {
    return "cases that were not compiled";
  }
#endif
  if (call.alibi_slopes != nullptr && call.causal == 0) {
    return "ALiBi over later keys, whose bias falls on both sides here";
  }
  return nullptr;
}

// As set_params_fprop() of flash_api.cpp does. If `group` is above 1, the query heads of a group
// are the rows of one head.
Flash_fwd_params params_of(const RectoAttentionCall& call, int group) {
  Flash_fwd_params params = {};
  params.is_bf16 = call.q.type == kRectoBf16;
  params.q_ptr = const_cast<void*>(call.q.data);
  params.k_ptr = const_cast<void*>(call.k.data);
  params.v_ptr = const_cast<void*>(call.v.data);
  params.o_ptr = call.out.data;
  params.q_batch_stride = call.q.row_stride;
  params.q_row_stride = group > 1 ? call.q.head_stride : call.q.row_stride;
  params.q_head_stride = call.q.head_stride * group;
  params.o_batch_stride = call.out.row_stride;
  params.o_row_stride = group > 1 ? call.out.head_stride : call.out.row_stride;
  params.o_head_stride = call.out.head_stride * group;
  params.k_batch_stride = call.k.block_stride;
  params.k_row_stride = call.k.slot_stride;
  params.k_head_stride = call.k.head_stride;
  params.v_batch_stride = call.v.block_stride;
  params.v_row_stride = call.v.slot_stride;
  params.v_head_stride = call.v.head_stride;
  params.b = static_cast<int>(call.num_seqs);
  params.h = static_cast<int>(call.q.num_heads / group);
  params.h_k = static_cast<int>(call.k.num_kv_heads);
  params.h_h_k_ratio = params.h / params.h_k;
  params.seqlen_q = group;
  params.seqlen_k = static_cast<int>(call.max_blocks * call.k.block_size);
  params.d = kHeadDim;
  params.d_rounded = kHeadDim <= 128 ? (kHeadDim + 31) / 32 * 32 : (kHeadDim + 63) / 64 * 64;
  params.block_table = const_cast<int*>(call.block_table);
  params.block_table_batch_stride = call.block_table_row_stride;
  params.page_block_size = static_cast<int>(call.k.block_size);
  const float scale = call.softcap > 0 ? call.softcap : call.scale;
  params.softcap = call.softcap > 0 ? call.scale / call.softcap : 0;
  params.scale_softmax = scale;
  params.scale_softmax_log2 = static_cast<float>(scale * M_LOG2E);
  params.p_dropout = 1;
  params.p_dropout_in_uint8_t = 255;
  params.rp_dropout = 1;
  params.scale_softmax_rp_dropout = scale;
  params.alibi_slopes_ptr = const_cast<float*>(call.alibi_slopes);
  params.num_splits = 1;
  return params;
}

void set_window(const RectoAttentionCall& call, bool is_causal, Flash_fwd_params& params) {
  params.window_size_left = static_cast<int>(call.window) - 1;
  params.window_size_right = is_causal ? 0 : -1;
  if (params.window_size_left >= params.seqlen_k) params.window_size_left = -1;
  params.is_causal = params.window_size_left < 0 && params.window_size_right == 0;
  if (params.window_size_left < 0 && params.window_size_right >= 0) {
    params.window_size_left = params.seqlen_k;
  }
  if (params.window_size_left >= 0 && params.window_size_right < 0) {
    params.window_size_right = params.seqlen_k;
  }
}

template <typename T>
void launch(Flash_fwd_params& params) {
  if (params.is_causal) return flash::run_mha_fwd_splitkv_dispatch<T, kHeadDim, true>(params, {});
  flash::run_mha_fwd_splitkv_dispatch<T, kHeadDim, false>(params, {});
}

void launch(Flash_fwd_params& params) {
#ifndef FEWER_KERNELS
  if (params.is_bf16) return launch<cutlass::bfloat16_t>(params);
#endif
  launch<cutlass::half_t>(params);
}

void allow_what_is_meant(recto::CheckedCall& checked) {
  // Rows of Q and keys of K behind the end of a tile are not copied; their scores are computed, and
  // dropped or replaced by -infinity.
  checked.allow(recto::UninitialisedReads::kAreMasked);
}

// A row without keys has +infinity as FlashAttention's log-sum-exp.
float lse_ln_of(float lse) { return lse == std::numeric_limits<float>::infinity() ? -lse : lse; }

// With a causal mask alone, FlashAttention adds slope * j instead of slope * (j - i): by which its
// log-sum-exp is larger, [num_query_rows, num_q_heads].
float alibi_shift(const RectoAttentionCall& call, int64_t sequence, int64_t row, int64_t head) {
  if (call.alibi_slopes == nullptr || call.causal == 0 || call.window > 0) return 0;
  const int64_t last = call.query_start[sequence + 1] - 1;
  return call.alibi_slopes[head] *
         static_cast<float>(call.context_length[sequence] - 1 - (last - row));
}

int32_t decode(const RectoAttentionCall* call) {
  if (const char* why = why_unsupported(*call)) return recto::unsupported(call->context, why);
  if (call->num_seqs == 0) return kRectoOk;
  const bool has_alibi = call->alibi_slopes != nullptr;
  // Without window and ALiBi, the query heads of a group are handled as rows.
  const int64_t group =
      call->window == 0 && !has_alibi ? call->q.num_heads / call->k.num_kv_heads : 1;
  Flash_fwd_params params = params_of(*call, static_cast<int>(group));
  set_window(*call, false, params);
  params.cu_seqlens_k = const_cast<int*>(call->context_length);
  params.is_seqlens_k_cumulative = false;
  params.num_splits = kSplits;

  recto::CheckedCall checked(*call);
  allow_what_is_meant(checked);
  const int64_t rows = call->num_seqs * call->q.num_heads;
  float* lse = checked.workspace<float>("softmax_lse",
                                        (rows + kLseMultiple - 1) / kLseMultiple * kLseMultiple);
  params.softmax_lse_ptr = lse;
  if (kSplits > 1) {
    params.softmax_lseaccum_ptr = checked.workspace<float>("softmax_lse_accum", kSplits * rows);
    params.oaccum_ptr = checked.workspace<float>("out_accum", kSplits * rows * params.d_rounded);
  }
  const int32_t status = checked.run([&] { launch(params); });
  if (status != kRectoOk) return status;
  for (int64_t i = 0; i < rows; ++i) call->lse_ln[i] = lse_ln_of(lse[i]);
  return kRectoOk;
}

int32_t prefill(const RectoAttentionCall* call) {
  if (const char* why = why_unsupported(*call)) return recto::unsupported(call->context, why);
  if (call->q.num_rows == 0) return kRectoOk;
  std::vector<int> key_start = {0};
  for (int64_t s = 0; s < call->num_seqs; ++s) {
    key_start.push_back(key_start.back() + call->context_length[s]);
  }
  Flash_fwd_params params = params_of(*call, 1);
  params.seqlen_q = static_cast<int>(call->max_query_length);
  params.seqlen_k = static_cast<int>(call->max_context_length);
  if (params.seqlen_k == 0) return recto::unsupported(call->context, "empty contexts alone");
  set_window(*call, call->causal != 0, params);
  params.is_seqlens_k_cumulative = true;
  params.unpadded_lse = true;
  params.total_q = static_cast<int>(call->q.num_rows);
  params.cu_seqlens_q = const_cast<int*>(call->query_start);

  recto::CheckedCall checked(*call);
  allow_what_is_meant(checked);
  const int64_t heads = call->q.num_heads;
  float* lse = checked.workspace<float>("softmax_lse", call->q.num_rows * heads);
  params.softmax_lse_ptr = lse;
  int* cu_seqlens_k = checked.workspace<int>("cu_seqlens_k", call->num_seqs + 1);
  params.cu_seqlens_k = cu_seqlens_k;
  const int32_t status = checked.run([&] {
    cudaMemcpy(cu_seqlens_k, key_start.data(), key_start.size() * sizeof(int), cudaMemcpyDefault);
    launch(params);
  });
  if (status != kRectoOk) return status;
  for (int64_t s = 0; s < call->num_seqs; ++s) {
    for (int64_t row = call->query_start[s]; row < call->query_start[s + 1]; ++row) {
      for (int64_t head = 0; head < heads; ++head) {
        call->lse_ln[row * heads + head] =
            lse_ln_of(lse[head * call->q.num_rows + row]) - alibi_shift(*call, s, row, head);
      }
    }
  }
  return kRectoOk;
}

const RectoKernelTable kTable = {.struct_bytes = sizeof(RectoKernelTable),
                                 .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                 .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                 .name = "flash-attn",
                                 .memories = kRectoHostMemory,
                                 .reserved = 0,
                                 .decode = decode,
                                 .prefill = prefill,
                                 .kv_write = nullptr,
                                 .features = 0};

}  // namespace

const RectoKernelTable* recto_kernel_table() { return &kTable; }
