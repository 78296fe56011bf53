#include <kernel_dialect.h>

#include "cuda/kernels/paged_prefill_entries.cuh"
#include "cuda/kernels/tensor_core_products.cuh"

namespace recto::kernels {

KernelTable<PagedPrefillParams> prefill_entries_bf16() {
  using Products = TensorCoreProducts<__nv_bfloat16>;
  return joined({prefill_entries<Products, __nv_bfloat16, 64, 80, 96, 128, 192, 256>(
                     ElementType::kBf16, {ElementType::kBf16}),
                 prefill_entries<Products, std::uint8_t, 64, 128>(
                     ElementType::kBf16, {ElementType::kE4m3, ElementType::kE5m2})});
}

KernelTable<PagedPrefillParams> wide_prefill_entries_bf16() {
  return wide_prefill_entries<__nv_bfloat16, 64, 128>(ElementType::kBf16);
}

}  // namespace recto::kernels
