#include "cuda/kernels/block_copy.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {
namespace {

// The names of the tensors of a copy, for K or V.
struct CopyNames {
  const char* from;
  const char* to;
};

// Kernels count all elements of one head in a block in int.
Status check_size(const char* name, const KvTensorView& tensor) {
  RECTO_RETURN_IF_ERROR(expect_at_most({name, "head_dim", tensor.head_dim}, kMovedSizeMax));
  return expect_at_most({name, "block_size", tensor.block_size}, kMovedSizeMax / tensor.head_dim);
}

Status check_alike(const CopyNames& names, const KvTensorView& from, const KvTensorView& to) {
  const auto expect = [&](const char* field, const auto& got, const auto& expected) {
    return expect_equal(Named(names.to, field, got), Named(names.from, field, expected));
  };
  RECTO_RETURN_IF_ERROR(expect("type", to.type, from.type));
  RECTO_RETURN_IF_ERROR(expect("block_size", to.block_size, from.block_size));
  RECTO_RETURN_IF_ERROR(expect("num_kv_heads", to.num_kv_heads, from.num_kv_heads));
  RECTO_RETURN_IF_ERROR(expect("head_dim", to.head_dim, from.head_dim));
  RECTO_RETURN_IF_ERROR(check_size(names.from, from));
  RECTO_RETURN_IF_ERROR(check_packs(names.from, from));
  return check_packs(names.to, to);
}

// Whether the slots of a pack, for one head in one block, are contiguous in both tensors.
bool lie_in_runs(const KvTensorView& from, const MutableKvTensorView& to) {
  return is_packed(from) && is_packed(to) && from.pack_width == to.pack_width &&
         from.slot_stride == from.pack_width && to.slot_stride == to.pack_width;
}

// If so, these runs are treated as the rows of a plain cache, and the packs as its slots.
template <typename Pointer>
BasicKvTensorView<Pointer> runs_as_rows(BasicKvTensorView<Pointer> tensor) {
  const std::int64_t packs = tensor.head_dim / tensor.pack_width;
  tensor.layout = KvLayout::kHeadMajor;
  tensor.head_dim = tensor.block_size * tensor.pack_width;
  tensor.slot_stride = tensor.pack_stride;
  tensor.block_size = packs;
  tensor.pack_width = 0;
  tensor.pack_stride = 0;
  return tensor;
}

BlockCopyParams with_runs_as_rows(BlockCopyParams params) {
  if (lie_in_runs(params.from.k, params.to.k) && lie_in_runs(params.from.v, params.to.v)) {
    params.from = {.k = runs_as_rows(params.from.k), .v = runs_as_rows(params.from.v)};
    params.to = {.k = runs_as_rows(params.to.k), .v = runs_as_rows(params.to.v)};
  }
  return params;
}

// The bitwise or of all addresses, sizes and strides of rows, in bytes.
template <typename Pointer>
std::uintptr_t row_bits(const BasicKvTensorView<Pointer>& tensor) {
  const std::int64_t sizes =
      tensor.head_dim | tensor.block_stride | tensor.head_stride | tensor.slot_stride;
  return reinterpret_cast<std::uintptr_t>(tensor.data) |
         static_cast<std::uintptr_t>(sizes * element_bytes(tensor.type));
}

// Treats contiguous rows as rows of codes of `elements` elements each.
template <typename Pointer>
void take_together(std::int64_t elements, BasicKvTensorView<Pointer>& tensor) {
  for (std::int64_t* size :
       {&tensor.head_dim, &tensor.block_stride, &tensor.head_stride, &tensor.slot_stride}) {
    *size /= elements;
  }
}

template <typename Access, typename Code>
Status launch(BlockCopyParams params, KernelStream stream) {
  const KernelLaunch how = {.grid = grid_of(params.num_pairs, params.from.k.num_kv_heads),
                            .block = dim3(kMoveThreads),
                            .stream = stream};
  const auto elements = static_cast<std::int64_t>(sizeof(Code)) / element_bytes(params.from.k.type);
  take_together(elements, params.from.k);
  take_together(elements, params.from.v);
  take_together(elements, params.to.k);
  take_together(elements, params.to.v);
  return launch_served("block_copy", how, &block_copy<Access, Code>, params);
}

// Copies 16 bytes at a time if all rows allow it, else the largest code that divides them.
Status launch_rows(const BlockCopyParams& params, KernelStream stream) {
  const std::uintptr_t bits = row_bits(params.from.k) | row_bits(params.from.v) |
                              row_bits(params.to.k) | row_bits(params.to.v);
  if (bits % 16 == 0) return launch<Fours, std::uint32_t>(params, stream);
  if (bits % 4 == 0) return launch<Singles, std::uint32_t>(params, stream);
  if (bits % 2 == 0) return launch<Singles, std::uint16_t>(params, stream);
  return launch<Singles, std::uint8_t>(params, stream);
}

}  // namespace

Status check_copy(const BlockCopyParams& params) {
  const PagedKvView& from = params.from;
  RECTO_RETURN_IF_ERROR(expect_same_type({"from.v", from.v.type}, {"from.k", from.k.type}));
  RECTO_RETURN_IF_ERROR(check_alike({"from.k", "to.k"}, from.k, as_const(params.to.k)));
  return check_alike({"from.v", "to.v"}, from.v, as_const(params.to.v));
}

Status launch_block_copy(const BlockCopyParams& asked, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_copy(asked));
  if (asked.num_pairs == 0) return Status::ok();
  const BlockCopyParams params = with_runs_as_rows(asked);
  const bool has_packs = is_packed(params.from.k) || is_packed(params.from.v) ||
                         is_packed(params.to.k) || is_packed(params.to.v);
  if (!has_packs) return launch_rows(params, stream);
  return with_element_of_size(element_bytes(params.from.k.type), [&](auto code) {
    return launch<Packs, typename decltype(code)::Type>(params, stream);
  });
}

}  // namespace recto::kernels
