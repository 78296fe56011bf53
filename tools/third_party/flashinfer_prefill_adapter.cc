// Passes recto's prefill calls to FlashInfer's BatchPrefillWithPagedKVCache, which uses tensor
// cores, with the plan that its own scheduler makes. Softcap takes -DSOFTCAP, with which twice as
// many kernels are compiled.

#include <flashinfer/exception.h>
#include <flashinfer/utils.cuh>

// The launcher fits tiles of keys to a card's shared memory. Only those are compiled that it
// chooses at head dims 64 and 128 on cards of sm_80 and sm_90, which is one size in four.
#undef DISPATCH_NUM_MMA_KV
#define DISPATCH_NUM_MMA_KV(most, NUM_MMA_KV, ...)                                   \
  constexpr uint32_t NUM_MMA_KV = CTA_TILE_Q == 128  ? 4                             \
                                  : CTA_TILE_Q == 64 ? 8                             \
                                                     : 256 / HEAD_DIM_VO;            \
  if (most < NUM_MMA_KV || most >= 2 * NUM_MMA_KV) FLASHINFER_ERROR("not compiled"); \
  __VA_ARGS__

#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/mask.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>

#include <flashinfer_call.h>

#ifndef ADAPTER_HEAD_DIM
#define ADAPTER_HEAD_DIM 128
#endif

namespace {

using flashinfer::GetPtrFromBaseOffset;
using flashinfer::MaskMode;
using flashinfer::PosEncodingMode;
using flashinfer_adapter::check;
using flashinfer_adapter::Memory;

constexpr int kHeadDim = ADAPTER_HEAD_DIM;

const char* why_unsupported(const RectoAttentionCall& call) {
  if (call.k.head_dim != kHeadDim) return "head dims for which this was not compiled";
  return flashinfer_adapter::why_unsupported(call);
}

template <typename T, typename Params>
void set_plan(const flashinfer::PrefillPlanInfo& plan, Memory& memory, Params& params) {
  const auto ints = [&](int64_t offset) {
    return GetPtrFromBaseOffset<int32_t>(memory.ints, offset);
  };
  params.request_indices = ints(plan.request_indices_offset);
  params.qo_tile_indices = ints(plan.qo_tile_indices_offset);
  params.kv_tile_indices = ints(plan.kv_tile_indices_offset);
  params.o_indptr = ints(plan.o_indptr_offset);
  params.kv_chunk_size_ptr = ints(plan.kv_chunk_size_ptr_offset);
  if (plan.split_kv) params.merge_indptr = ints(plan.merge_indptr_offset);
  params.padded_batch_size = static_cast<uint32_t>(plan.padded_batch_size);
  params.max_total_num_rows = static_cast<uint32_t>(plan.total_num_rows);
}

// Planned and run as csrc/batch_prefill.cu does.
template <typename T, MaskMode kMask, bool kHasSoftcap>
void prefill(const RectoAttentionCall& call, Memory& memory) {
  using Params = flashinfer::BatchPrefillPagedParams<T, T, T, int32_t>;
  using Variant = flashinfer::DefaultAttention<false, true, kHasSoftcap, false>;
  Params params;
  params.paged_kv = flashinfer_adapter::paged_cache<T>(call, memory);
  params.q = static_cast<T*>(const_cast<void*>(call.q.data));
  params.o = static_cast<T*>(call.out.data);
  params.q_indptr = const_cast<int32_t*>(call.query_start);
  params.group_size =
      flashinfer::uint_fastdiv(static_cast<uint32_t>(call.q.num_heads / call.k.num_kv_heads));
  flashinfer_adapter::set_common(call, params);

  flashinfer::PrefillPlanInfo plan;
  check(flashinfer::PrefillPlan<int32_t>(
      memory.floats, static_cast<size_t>(memory.float_bytes), memory.ints,
      memory.page_locked.data(), flashinfer_adapter::kIntBytes, plan, params.q_indptr,
      memory.lists.indptr.data(), static_cast<uint32_t>(call.q.num_rows),
      static_cast<uint32_t>(call.num_seqs), params.num_qo_heads,
      static_cast<uint32_t>(call.k.num_kv_heads), kHeadDim, kHeadDim,
      static_cast<uint32_t>(call.k.block_size), false, sizeof(T), params.window_left, 0, false, 0,
      nullptr));
  set_plan<T>(plan, memory, params);
  T* partial = nullptr;
  float* partial_lse = nullptr;
  if (plan.split_kv) {
    partial = GetPtrFromBaseOffset<T>(memory.floats, plan.v_offset);
    partial_lse = GetPtrFromBaseOffset<float>(memory.floats, plan.s_offset);
  }
  DISPATCH_CTA_TILE_Q(plan.cta_tile_q, CTA_TILE_Q, {
    check(flashinfer::BatchPrefillWithPagedKVCacheDispatched<
          CTA_TILE_Q, kHeadDim, kHeadDim, PosEncodingMode::kNone, false, kMask, Variant>(
        params, partial, partial_lse, false, nullptr));
  });
}

template <typename T, bool kHasSoftcap>
void prefill(const RectoAttentionCall& call, Memory& memory) {
  if (call.causal != 0) return prefill<T, MaskMode::kCausal, kHasSoftcap>(call, memory);
  prefill<T, MaskMode::kNone, kHasSoftcap>(call, memory);
}

template <typename T>
void prefill(const RectoAttentionCall& call, Memory& memory) {
#ifdef SOFTCAP
  if (call.softcap > 0) return prefill<T, true>(call, memory);
#endif
  prefill<T, false>(call, memory);
}

// Room for the partial results of two tiles of 128 rows for each multiprocessor, which is what the
// scheduler asks for at most.
int64_t float_bytes(const RectoAttentionCall& call) {
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  const int64_t group = call.q.num_heads / call.k.num_kv_heads;
  return 2 * multiprocessors * group * 128 * (kHeadDim + 1) * int64_t{sizeof(float)} + 256;
}

int32_t prefill(const RectoAttentionCall* call) {
  if (const char* why = why_unsupported(*call)) return recto::unsupported(call->context, why);
#ifndef SOFTCAP
  if (call->softcap > 0) return recto::unsupported(call->context, "softcap");
#endif
  if (call->q.num_rows == 0) return kRectoOk;
  recto::CheckedCall checked(*call);
  flashinfer_adapter::allow_what_is_meant(checked);
  Memory memory(checked, *call, float_bytes(*call));
  const int32_t status = checked.run([&] {
    if (call->q.type == kRectoBf16) {
      prefill<nv_bfloat16>(*call, memory);
    } else {
      prefill<half>(*call, memory);
    }
  });
  if (status == kRectoOk) flashinfer_adapter::to_natural_logarithms(*call);
  return status;
}

const RectoKernelTable kTable = {.struct_bytes = sizeof(RectoKernelTable),
                                 .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                 .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                 .name = "flashinfer-prefill",
                                 .memories = kRectoHostMemory,
                                 .reserved = 0,
                                 .decode = nullptr,
                                 .prefill = prefill,
                                 .kv_write = nullptr,
                                 .features = 0};

}  // namespace

const RectoKernelTable* recto_kernel_table() { return &kTable; }
