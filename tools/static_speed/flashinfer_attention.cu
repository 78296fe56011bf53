// Instantiates FlashInfer's paged kernels as its dispatch functions do on sm_90, for bf16, head dim
// 128 and groups of four: decode on tensor cores and on CUDA cores, and prefill of 128 rows. Its
// headers are those of PyPI's flashinfer-python.

#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>

namespace {

using Bf16 = __nv_bfloat16;
using Rows = flashinfer::BatchPrefillPagedParams<Bf16, Bf16, Bf16, int>;
using OneRow = flashinfer::BatchDecodeParams<Bf16, Bf16, Bf16, int>;
using Plain = flashinfer::DefaultAttention<false, false, false, false>;
constexpr auto kNoRotary = flashinfer::PosEncodingMode::kNone;

// Tiles of kMmaKv x 16 keys a warp, as many as leave room for two thread blocks.
template <flashinfer::MaskMode kMask, unsigned kTileRows, unsigned kMmaKv>
using Traits = flashinfer::KernelTraits<kMask, kTileRows, flashinfer::get_num_mma_q(kTileRows),
                                        kMmaKv, 8, 8, flashinfer::get_num_warps_q(kTileRows),
                                        flashinfer::get_num_warps_kv(kTileRows), kNoRotary, Bf16,
                                        Bf16, Bf16, float, int, Plain>;
using Decode = Traits<flashinfer::MaskMode::kNone, 16, 2>;
using Prefill = Traits<flashinfer::MaskMode::kCausal, 128, 4>;

}  // namespace

// Taking their addresses instantiates them.
void* flashinfer_kernels[] = {
    reinterpret_cast<void*>(&flashinfer::BatchPrefillWithPagedKVCacheKernel<Decode, Rows>),
    reinterpret_cast<void*>(&flashinfer::BatchPrefillWithPagedKVCacheKernel<Prefill, Rows>),
    reinterpret_cast<void*>(&flashinfer::BatchDecodeWithPagedKVCacheKernel<kNoRotary, 2, 1, 8, 16,
                                                                           4, 2, Plain, OneRow>),
};
