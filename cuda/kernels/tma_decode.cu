#include "cuda/kernels/tma_decode.h"

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/gqa_decode_entries.cuh"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/stream_gate.h"
#include "cuda/kernels/tensor_core_products.cuh"

namespace recto::kernels {
namespace {

template <typename Element>
KernelTable<SplitDecodeParams> entries_for(ElementType type) {
  if constexpr (kHasBulkCopies) {
    using BlockNumbers = Numbers<TensorCoreProducts<Element>, Element, Transfer::kBlocks>;
    return gqa_decode_entries<BlockNumbers, 64, 128>(type, {type});
  } else {
    return {};
  }
}

const KernelTable<SplitDecodeParams>& table() {
  static const KernelTable<SplitDecodeParams> kTable = tma_decode_table();
  return kTable;
}

}  // namespace

KernelTable<SplitDecodeParams> tma_decode_table() {
  return joined(
      {entries_for<__half>(ElementType::kFp16), entries_for<__nv_bfloat16>(ElementType::kBf16)});
}

Status check_tma_served(const SplitDecodeParams& params) {
  const ReferenceDecodeParams& decode = params.decode;
  RECTO_RETURN_IF_ERROR(check_streamed({decode.q, decode.kv, decode.out}));
  RECTO_RETURN_IF_ERROR(check_in_blocks(decode.kv));
  return check_in_table("tma_decode_table()", table(), decode.q, decode.kv.k);
}

std::int64_t tma_blocks_per_sm(const SplitDecodeParams& params) {
  return blocks_per_sm(find_entry(table(), params.decode.q, params.decode.kv.k));
}

Status launch_tma_decode(const SplitDecodeParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_splits(params));
  RECTO_RETURN_IF_ERROR(check_tma_served(params));
  if (params.decode.q.num_rows == 0) return Status::ok();
  return find_entry(table(), params.decode.q, params.decode.kv.k)->launch(params, stream);
}

}  // namespace recto::kernels
