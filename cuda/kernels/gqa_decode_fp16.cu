#include <kernel_dialect.h>

#include "cuda/kernels/gqa_decode_entries.cuh"
#include "cuda/kernels/tensor_core_products.cuh"

namespace recto::kernels {

KernelTable<SplitDecodeParams> gqa_decode_entries_fp16() {
  return gqa_decode_entries<Numbers<TensorCoreProducts<__half>, __half>, 64, 80, 96, 128, 192, 256>(
      ElementType::kFp16, {ElementType::kFp16});
}

}  // namespace recto::kernels
