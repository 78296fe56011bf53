#include "core/view_gate.h"

#include <bit>
#include <string>
#include <utility>

#include "core/contract.h"
#include "core/dense_kv_view.h"
#include "core/refusal.h"

namespace recto {
namespace {

Status expect_known(const char* view, const char* field, int value, int known) {
  if (value >= 0 && value < known) return Status::ok();
  return refusal(field_name(view, field), "an enumerator below " + std::to_string(known),
                 std::to_string(value));
}

Status check_block_size(const char* name, std::int64_t block_size) {
  const bool is_power = std::has_single_bit(static_cast<std::uint64_t>(block_size));
  if (block_size > 0 && (is_power || block_size % 16 == 0)) return Status::ok();
  return refusal(field_name(name, "block_size"), "a power of two or a multiple of 16",
                 std::to_string(block_size));
}

Status check_packs(const char* name, const KvTensorView& view, std::int64_t pack_width) {
  const auto expect = [&](const char* field, std::int64_t expected, std::int64_t got) {
    if (got == expected) return Status::ok();
    return refusal(field_name(name, field),
                   std::to_string(expected) + " in the " + kv_layout_name(view.layout) + " layout",
                   std::to_string(got));
  };
  if (view.layout != KvLayout::kPacked) {
    RECTO_RETURN_IF_ERROR(expect("pack_width", 0, view.pack_width));
    return expect("pack_stride", 0, view.pack_stride);
  }
  RECTO_RETURN_IF_ERROR(expect("pack_width", pack_width, view.pack_width));
  // One dim of V is contiguous over the slots of its block, as a row is over dims in other layouts.
  if (pack_width == 1) RECTO_RETURN_IF_ERROR(expect("slot_stride", 1, view.slot_stride));
  return expect_multiple({name, "head_dim", view.head_dim}, {name, "pack_width", pack_width});
}

Status check_tensor(const char* name, const KvTensorView& view, std::int64_t pack_width) {
  RECTO_RETURN_IF_ERROR(expect_at_least({name, "num_blocks", view.num_blocks}, 0));
  RECTO_RETURN_IF_ERROR(check_block_size(name, view.block_size));
  RECTO_RETURN_IF_ERROR(expect_at_least({name, "num_kv_heads", view.num_kv_heads}, 1));
  RECTO_RETURN_IF_ERROR(expect_at_least({name, "head_dim", view.head_dim}, 1));
  return check_packs(name, view, pack_width);
}

StridedTensor kv_strides(const char* name, const KvTensorView& view) {
  StridedTensor tensor{.name = name,
                       .data = view.data,
                       .element_bytes = element_bytes(view.type),
                       .run_field = "head_dim",
                       .run = view.head_dim,
                       .levels = {}};
  const StrideLevel slots{"slot_stride", view.block_size, view.slot_stride};
  const StrideLevel heads{"head_stride", view.num_kv_heads, view.head_stride};
  const StrideLevel blocks{"block_stride", view.num_blocks, view.block_stride};
  if (view.layout != KvLayout::kPacked) {
    tensor.levels = {slots, heads, blocks};
    return tensor;
  }
  const StrideLevel packs{"pack_stride", view.head_dim / view.pack_width, view.pack_stride};
  if (view.pack_width == 1) {
    tensor.run_field = "block_size";
    tensor.run = view.block_size;
    tensor.levels = {packs, heads, blocks};
  } else {
    tensor.run_field = "pack_width";
    tensor.run = view.pack_width;
    tensor.levels = {slots, packs, heads, blocks};
  }
  return tensor;
}

}  // namespace

Status ViewGate::add_rows(const char* name, const RowsView& view, Access access) {
  RECTO_RETURN_IF_ERROR(
      expect_known(name, "type", static_cast<int>(view.type), std::size(kElementTypes)));
  RECTO_RETURN_IF_ERROR(expect_at_least({name, "num_rows", view.num_rows}, 0));
  RECTO_RETURN_IF_ERROR(expect_at_least({name, "num_heads", view.num_heads}, 1));
  RECTO_RETURN_IF_ERROR(expect_at_least({name, "head_dim", view.head_dim}, 1));
  return add({.name = name,
              .data = view.data,
              .element_bytes = element_bytes(view.type),
              .run_field = "head_dim",
              .run = view.head_dim,
              .levels = {StrideLevel{"head_stride", view.num_heads, view.head_stride},
                         StrideLevel{"row_stride", view.num_rows, view.row_stride}}},
             options_.alignment_bytes, access);
}

Status ViewGate::scale(const char* name, const KvTensorView& view) {
  const KvScale& scale = view.scale;
  RECTO_RETURN_IF_ERROR(expect_known(name, "kind", static_cast<int>(scale.kind), 3));
  if (scale.kind == ScaleKind::kNone) {
    if (scale.data == nullptr) return Status::ok();
    return refusal(field_name(name, "data"), "null with a scale kind of none", "an address");
  }
  if (!is_fp8(view.type)) {
    return refusal(field_name(name, "kind"), "none (only fp8 is scaled)",
                   std::string("a scale of ") + element_type_name(view.type));
  }
  const std::int64_t size = scale.kind == ScaleKind::kPerTensor ? 1 : view.num_kv_heads;
  return add(array_tensor(name, scale.data, size), 0, Access::kRead);
}

Status ViewGate::kv(const KvNames& names, const PagedKvView& view, Access access) {
  const KvTensorView& k = view.k;
  const KvTensorView& v = view.v;
  for (const auto& [name, tensor] : {std::pair(names.k, &k), std::pair(names.v, &v)}) {
    RECTO_RETURN_IF_ERROR(
        expect_known(name, "type", static_cast<int>(tensor->type), std::size(kElementTypes)));
    RECTO_RETURN_IF_ERROR(expect_known(name, "layout", static_cast<int>(tensor->layout), 3));
  }
  const auto expect_same = [&](const char* field, const auto& of_v, const auto& of_k) {
    return expect_equal(Named(names.v, field, of_v), Named(names.k, field, of_k));
  };
  RECTO_RETURN_IF_ERROR(expect_same("type", v.type, k.type));
  RECTO_RETURN_IF_ERROR(expect_same("layout", v.layout, k.layout));
  RECTO_RETURN_IF_ERROR(check_tensor(names.k, k, packed_width_k(k.type)));
  RECTO_RETURN_IF_ERROR(check_tensor(names.v, v, kPackedWidthV));
  RECTO_RETURN_IF_ERROR(expect_same("num_blocks", v.num_blocks, k.num_blocks));
  RECTO_RETURN_IF_ERROR(expect_same("block_size", v.block_size, k.block_size));
  RECTO_RETURN_IF_ERROR(expect_same("num_kv_heads", v.num_kv_heads, k.num_kv_heads));
  RECTO_RETURN_IF_ERROR(scale(names.k_scale, k));
  RECTO_RETURN_IF_ERROR(scale(names.v_scale, v));
  RECTO_RETURN_IF_ERROR(cache(kv_strides(names.k, k), access));
  return cache(kv_strides(names.v, v), access);
}

// A cache of fewer than 2^63 distinct bytes has fewer than 2^63 slots, so slot ids, block_id *
// block_size + offset, are in range.
Status ViewGate::cache(const StridedTensor& tensor, Access access) {
  const Result<ByteFootprint> footprint = footprint_of(tensor, options_.alignment_bytes);
  RECTO_RETURN_IF_ERROR(footprint.status());
  RECTO_RETURN_IF_ERROR(check_nested(footprint.value()));
  return add(footprint.value(), access);
}

Status ViewGate::block_table(const BlockTableView& table) {
  constexpr const char* kName = "block_table";
  RECTO_RETURN_IF_ERROR(expect_at_least({kName, "num_seqs", table.num_seqs}, 0));
  RECTO_RETURN_IF_ERROR(expect_at_least({kName, "max_blocks", table.max_blocks}, 0));
  if (table.row_stride < table.max_blocks) {
    return refusal("block_table.row_stride",
                   "at least block_table.max_blocks = " + std::to_string(table.max_blocks),
                   std::to_string(table.row_stride));
  }
  return add({.name = kName,
              .data = table.data,
              .element_bytes = sizeof(std::int32_t),
              .run_field = "max_blocks",
              .run = table.max_blocks,
              .levels = {StrideLevel{"row_stride", table.num_seqs, table.row_stride}}},
             0, Access::kRead);
}

Status ViewGate::block_pairs(const char* name, std::span<const BlockPair> pairs) {
  return add({.name = name,
              .data = pairs.data(),
              .element_bytes = sizeof(std::int32_t),
              .run_field = "size",
              .run = 2,
              .levels = {StrideLevel{"size", std::ssize(pairs), 2}}},
             0, Access::kRead);
}

Status ViewGate::check_extra_memory() {
  RECTO_CHECK_LE(options_.read_rows.size(), GateOptions::kReadRowsMax);
  for (const NamedRows& each : options_.read_rows) {
    RECTO_RETURN_IF_ERROR(rows(each.name, each.view));
  }
  return written_array("workspace", options_.workspace);
}

Status ViewGate::add(const StridedTensor& tensor, std::int64_t alignment_bytes, Access access) {
  const Result<ByteFootprint> footprint = footprint_of(tensor, alignment_bytes);
  RECTO_RETURN_IF_ERROR(footprint.status());
  if (access == Access::kWrite) RECTO_RETURN_IF_ERROR(check_nested(footprint.value()));
  return add(footprint.value(), access);
}

Status ViewGate::add(const ByteFootprint& bytes, Access access) {
  for (std::size_t i = 0; i < num_seen_; ++i) {
    if (access == Access::kRead && seen_[i].access == Access::kRead) continue;
    RECTO_RETURN_IF_ERROR(check_apart(bytes, seen_[i].bytes));
  }
  RECTO_CHECK_LT(num_seen_, kTensorsMax);
  seen_[num_seen_++] = {bytes, access};
  return Status::ok();
}

}  // namespace recto
