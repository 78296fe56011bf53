#include <kernel_dialect.h>

#include "cuda/kernels/paged_prefill_entries.cuh"
#include "cuda/kernels/tensor_core_products.cuh"

namespace recto::kernels {

std::vector<PrefillEntry> prefill_entries_bf16() {
  std::vector<PrefillEntry> entries =
      prefill_entries<TensorCoreProducts<__nv_bfloat16>, __nv_bfloat16, 64, 80, 96, 128, 192, 256>(
          ElementType::kBf16, {ElementType::kBf16});
  for (const PrefillEntry& entry :
       prefill_entries<TensorCoreProducts<__nv_bfloat16>, std::uint8_t, 64, 128>(
           ElementType::kBf16, {ElementType::kE4m3, ElementType::kE5m2})) {
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace recto::kernels
