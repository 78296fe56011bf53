#include <kernel_dialect.h>

#include "cuda/kernels/paged_prefill_entries.cuh"
#include "cuda/kernels/scalar_products.cuh"

namespace recto::kernels {

KernelTable<PagedPrefillParams> prefill_entries_fp32() {
  return prefill_entries<ScalarProducts, float, 64, 128>(ElementType::kFp32, {ElementType::kFp32});
}

}  // namespace recto::kernels
