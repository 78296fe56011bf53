#include "cuda/kernels/bulk_decode.h"

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstdint>

#include "cuda/kernels/group_decode_entries.cuh"
#include "cuda/kernels/stream_gate.h"
#include "cuda/kernels/tensor_core_products.cuh"

namespace recto::kernels {
namespace {

template <typename Element>
std::vector<GroupDecodeEntry> entries_of(ElementType type) {
  if constexpr (kHasBulkCopies) {
    using BlockNumbers = Numbers<TensorCoreProducts<Element>, Element, Transfer::kBlocks>;
    return group_decode_entries<BlockNumbers, 64, 128>(type, {type});
  } else {
    return {};
  }
}

const std::vector<GroupDecodeEntry>& table() {
  static const std::vector<GroupDecodeEntry> kTable = bulk_decode_table();
  return kTable;
}

}  // namespace

std::vector<GroupDecodeEntry> bulk_decode_table() {
  std::vector<GroupDecodeEntry> all = entries_of<__half>(ElementType::kFp16);
  for (const GroupDecodeEntry& entry : entries_of<__nv_bfloat16>(ElementType::kBf16)) {
    all.push_back(entry);
  }
  return all;
}

const char* why_not_bulk_served(const SplitDecodeParams& params) {
  const PagedDecodeParams& decode = params.decode;
  if (decode.out.type != decode.q.type) return "out.type: expected that of q";
  if (const char* error = why_not_streamed(decode.kv)) return error;
  if (const char* error = why_not_in_blocks(decode.kv)) return error;
  if (find_entry(table(), decode) == nullptr) {
    return "q.type, kv.k.type, kv.k.head_dim: expected a row of bulk_decode_table()";
  }
  return nullptr;
}

KernelStatus launch_bulk_decode(const SplitDecodeParams& params, KernelStream stream) {
  if (const char* error = why_not_split(params)) return {error};
  if (const char* error = why_not_bulk_served(params)) return {error};
  if (params.decode.q.num_rows == 0) return {};
  return find_entry(table(), params.decode)->launch(params, stream);
}

}  // namespace recto::kernels
