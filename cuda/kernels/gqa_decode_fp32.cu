#include <kernel_dialect.h>

#include "cuda/kernels/gqa_decode_entries.cuh"
#include "cuda/kernels/scalar_products.cuh"

namespace recto::kernels {

KernelTable<SplitDecodeParams> gqa_decode_entries_fp32() {
  return gqa_decode_entries<Numbers<ScalarProducts, float>, 64, 80, 96, 128, 192, 256>(
      ElementType::kFp32, {ElementType::kFp32});
}

}  // namespace recto::kernels
