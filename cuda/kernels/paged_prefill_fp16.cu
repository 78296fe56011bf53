#include <kernel_dialect.h>

#include "cuda/kernels/paged_prefill_entries.cuh"
#include "cuda/kernels/tensor_core_products.cuh"

namespace recto::kernels {

std::vector<PrefillEntry> prefill_entries_fp16() {
  std::vector<PrefillEntry> entries =
      prefill_entries<TensorCoreProducts<__half>, __half, 64, 80, 96, 128, 192, 256>(
          ElementType::kFp16, {ElementType::kFp16});
  for (const PrefillEntry& entry :
       prefill_entries<TensorCoreProducts<__half>, std::uint8_t, 64, 128>(
           ElementType::kFp16, {ElementType::kE4m3, ElementType::kE5m2})) {
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace recto::kernels
