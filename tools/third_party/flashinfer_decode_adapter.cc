// Passes recto's decode calls to FlashInfer's BatchDecodeWithPagedKVCache, with the plan that its
// own scheduler makes. With -DFEWER_KERNELS, which compiles in a third of the time, head dim 128
// alone, without softcap.

#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/scheduler.cuh>
#include <flashinfer/attention/variants.cuh>

#include <flashinfer_call.h>

namespace {

using flashinfer::GetPtrFromBaseOffset;
using flashinfer::PosEncodingMode;
using flashinfer_adapter::check;
using flashinfer_adapter::Memory;

constexpr PosEncodingMode kNoEncoding = PosEncodingMode::kNone;
constexpr int64_t kFloatBytes = int64_t{16} << 20;

const char* why_unsupported(const RectoAttentionCall& call) {
  const int64_t group = call.q.num_heads / call.k.num_kv_heads;
  if (group > 4 && group != 8) return "groups other than 1, 2, 3, 4 and 8";
#ifdef FEWER_KERNELS
  if (call.k.head_dim != 128 || call.softcap > 0) return "cases that were not compiled";
#endif
  return flashinfer_adapter::why_unsupported(call);
}

// Planned and run as csrc/batch_decode.cu does.
template <typename T, int kHeadDim, bool kHasSoftcap>
void decode(const RectoAttentionCall& call, Memory& memory) {
  using Params = flashinfer::BatchDecodeParams<T, T, T, int32_t>;
  using Variant = flashinfer::DefaultAttention<false, true, kHasSoftcap, false>;
  Params params;
  params.paged_kv = flashinfer_adapter::paged_cache<T>(call, memory);
  params.q = static_cast<T*>(const_cast<void*>(call.q.data));
  params.o = static_cast<T*>(call.out.data);
  flashinfer_adapter::set_common(call, params);

  flashinfer::DecodePlanInfo plan;
  DISPATCH_GQA_GROUP_SIZE(call.q.num_heads / call.k.num_kv_heads, GROUP_SIZE, {
    const auto estimate = flashinfer::BatchDecodeWithPagedKVCacheWorkEstimationDispatched<
        GROUP_SIZE, kHeadDim, kNoEncoding, Variant, Params>;
    check(flashinfer::DecodePlan<kHeadDim, kNoEncoding, Variant, Params>(
        memory.floats, static_cast<size_t>(memory.float_bytes), memory.ints,
        memory.page_locked.data(), flashinfer_adapter::kIntBytes, plan, memory.lists.indptr.data(),
        static_cast<uint32_t>(call.num_seqs), params.num_qo_heads,
        static_cast<uint32_t>(call.k.block_size), false, nullptr, estimate));
  });
  params.padded_batch_size = static_cast<uint32_t>(plan.padded_batch_size);
  params.request_indices = GetPtrFromBaseOffset<int32_t>(memory.ints, plan.request_indices_offset);
  params.kv_tile_indices = GetPtrFromBaseOffset<int32_t>(memory.ints, plan.kv_tile_indices_offset);
  params.o_indptr = GetPtrFromBaseOffset<int32_t>(memory.ints, plan.o_indptr_offset);
  params.kv_chunk_size_ptr =
      GetPtrFromBaseOffset<int32_t>(memory.ints, plan.kv_chunk_size_ptr_offset);
  T* partial = nullptr;
  float* partial_lse = nullptr;
  if (plan.split_kv) {
    partial = GetPtrFromBaseOffset<T>(memory.floats, plan.v_offset);
    partial_lse = GetPtrFromBaseOffset<float>(memory.floats, plan.s_offset);
  }
  check(flashinfer::BatchDecodeWithPagedKVCacheDispatched<kHeadDim, kNoEncoding, Variant>(
      params, partial, partial_lse, false, nullptr));
}

template <typename T, int kHeadDim>
void decode(const RectoAttentionCall& call, Memory& memory) {
#ifndef FEWER_KERNELS
  if (call.softcap > 0) return decode<T, kHeadDim, true>(call, memory);
#endif
  decode<T, kHeadDim, false>(call, memory);
}

template <typename T>
void decode(const RectoAttentionCall& call, Memory& memory) {
#ifndef FEWER_KERNELS
  if (call.k.head_dim == 64) return decode<T, 64>(call, memory);
#endif
  decode<T, 128>(call, memory);
}

int32_t decode(const RectoAttentionCall* call) {
  if (const char* why = why_unsupported(*call)) return recto::unsupported(call->context, why);
  if (call->num_seqs == 0) return kRectoOk;
  recto::CheckedCall checked(*call);
  flashinfer_adapter::allow_what_is_meant(checked);
  Memory memory(checked, *call, kFloatBytes);
  const int32_t status = checked.run([&] {
    if (call->q.type == kRectoBf16) {
      decode<nv_bfloat16>(*call, memory);
    } else {
      decode<half>(*call, memory);
    }
  });
  if (status == kRectoOk) flashinfer_adapter::to_natural_logarithms(*call);
  return status;
}

const RectoKernelTable kTable = {.struct_bytes = sizeof(RectoKernelTable),
                                 .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                 .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                 .name = "flashinfer-decode",
                                 .memories = kRectoHostMemory,
                                 .reserved = 0,
                                 .decode = decode,
                                 .prefill = nullptr,
                                 .kv_write = nullptr,
                                 .features = 0};

}  // namespace

const RectoKernelTable* recto_kernel_table() { return &kTable; }
