#include <kernel_dialect.h>

#include "cuda/kernels/gqa_decode_entries.cuh"
#include "cuda/kernels/tensor_core_products.cuh"

namespace recto::kernels {

KernelTable<SplitDecodeParams> gqa_decode_entries_bf16() {
  return gqa_decode_entries<Numbers<TensorCoreProducts<__nv_bfloat16>, __nv_bfloat16>, 64, 80, 96,
                            128, 192, 256>(ElementType::kBf16, {ElementType::kBf16});
}

}  // namespace recto::kernels
