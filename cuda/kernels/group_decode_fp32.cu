#include <kernel_dialect.h>

#include "cuda/kernels/group_decode_entries.cuh"
#include "cuda/kernels/scalar_products.cuh"

namespace recto::kernels {

std::vector<GroupDecodeEntry> group_decode_entries_fp32() {
  return group_decode_entries<ScalarProducts, float>(ElementType::kFp32, {ElementType::kFp32});
}

}  // namespace recto::kernels
