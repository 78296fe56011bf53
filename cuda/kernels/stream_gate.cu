#include "cuda/kernels/stream_gate.h"

#include <kernel_dialect.h>

#include <cstdint>
#include <string>

#include "core/refusal.h"
#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/tile.cuh"

namespace recto::kernels {
namespace {

std::string field(const char* tensor, const char* name) { return std::string(tensor) + "." + name; }

Status check_chunk_packs(const char* name, const KvTensorView& tensor, std::int64_t width) {
  if (!is_packed(tensor) || tensor.pack_width == width) return Status::ok();
  return refusal(field(name, "pack_width"), std::to_string(width),
                 std::to_string(tensor.pack_width));
}

// Whether packed values are copied element by element, because a block is not a whole number of
// chunks.
bool has_single_values(const KvTensorView& tensor, std::int64_t chunk) {
  return is_packed(tensor) && tensor.pack_width == 1 && tensor.block_size % chunk != 0;
}

// Checks that all copied chunks begin at multiples of their size. In packed tensors a chunk is a
// slot's part of a pack of K, or neighbouring slots of a dim of V, whose slot stride is 1.
Status check_chunks(const char* name, const KvTensorView& tensor) {
  const std::int64_t chunk = kChunkBytes / element_bytes(tensor.type);
  if (has_single_values(tensor, chunk)) return Status::ok();
  RECTO_RETURN_IF_ERROR(expect_at_chunk(name, tensor.data));
  const auto expect = [&](const char* stride, std::int64_t elements) {
    return expect_chunks({name, stride, elements}, tensor.type);
  };
  RECTO_RETURN_IF_ERROR(expect("block_stride", tensor.block_stride));
  RECTO_RETURN_IF_ERROR(expect("head_stride", tensor.head_stride));
  if (is_packed(tensor)) RECTO_RETURN_IF_ERROR(expect("pack_stride", tensor.pack_stride));
  const bool has_slots_in_chunks = is_packed(tensor) && tensor.pack_width == 1;
  return has_slots_in_chunks ? Status::ok() : expect("slot_stride", tensor.slot_stride);
}

Status check_runs(const char* name, const KvTensorView& tensor) {
  if (is_packed(tensor))
    return refusal(field(name, "layout"), "token-major or head-major", "packed");
  if (tensor.block_size == 1) return Status::ok();
  return expect_equal(NamedSize(name, "slot_stride", tensor.slot_stride),
                      NamedSize(name, "head_dim", tensor.head_dim));
}

}  // namespace

Status check_streamed(const StreamedViews& views) {
  const KvTensorView& k = views.kv.k;
  const KvTensorView& v = views.kv.v;
  RECTO_RETURN_IF_ERROR(expect_same_type({"out", views.out.type}, {"q", views.q.type}));
  RECTO_RETURN_IF_ERROR(expect_same_type({"kv.v", v.type}, {"kv.k", k.type}));
  RECTO_RETURN_IF_ERROR(expect_equal(NamedSize("kv.v", "head_dim", v.head_dim),
                                     NamedSize("kv.k", "head_dim", k.head_dim)));
  RECTO_RETURN_IF_ERROR(check_counted("kv.k", k));
  RECTO_RETURN_IF_ERROR(check_chunk_packs("kv.k", k, kChunkBytes / element_bytes(k.type)));
  RECTO_RETURN_IF_ERROR(check_chunk_packs("kv.v", v, 1));
  RECTO_RETURN_IF_ERROR(check_chunks("kv.k", k));
  return check_chunks("kv.v", v);
}

Status check_in_blocks(const PagedKvView& kv) {
  RECTO_RETURN_IF_ERROR(check_runs("kv.k", kv.k));
  return check_runs("kv.v", kv.v);
}

}  // namespace recto::kernels
