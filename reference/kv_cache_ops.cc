#include "reference/kv_cache_ops.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/contract.h"
#include "reference/kv_cache_reader.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

std::uint32_t load_code(const void* data, std::int64_t offset, ElementType type) {
  const std::int64_t bytes = element_bytes(type);
  std::uint32_t code = 0;
  std::memcpy(&code, static_cast<const std::byte*>(data) + offset * bytes,
              static_cast<std::size_t>(bytes));
  return code;
}

void store_code(void* data, std::int64_t offset, ElementType type, std::uint32_t code) {
  const std::int64_t bytes = element_bytes(type);
  std::memcpy(static_cast<std::byte*>(data) + offset * bytes, &code,
              static_cast<std::size_t>(bytes));
}

template <typename Pointer>
std::int64_t row_offset(const BasicRowsView<Pointer>& rows, std::int64_t row, std::int64_t head) {
  return row * rows.row_stride + head * rows.head_stride;
}

// The code that a cache stores for a source's code; `scale` applies to fp8 only.
std::uint32_t cache_code(std::uint32_t source, ElementType from, ElementType to, float scale) {
  // The conversion is exact: values of all source types are fp32 values.
  if (is_fp8(to)) return encode_fp8(static_cast<float>(decode(source, from)), scale, to);
  return from == to ? source : encode(decode(source, from), to);
}

void check_source(const RowsView& rows, const MutableKvTensorView& cache, std::int64_t tokens) {
  RECTO_CHECK_GE(rows.num_rows, tokens);
  RECTO_CHECK_EQ(rows.num_heads, cache.num_kv_heads);
  RECTO_CHECK_EQ(rows.head_dim, cache.head_dim);
  RECTO_CHECK(!is_fp8(rows.type));
  RECTO_CHECK(rows.type == cache.type || rows.type == ElementType::kFp32 || is_fp8(cache.type));
}

void write_token(const RowsView& rows, std::int64_t token, const MutableKvTensorView& cache,
                 std::int64_t slot) {
  const KvTensorView view = as_const(cache);
  RECTO_CHECK_LE(0, slot);
  RECTO_CHECK_LT(slot, cache.num_blocks * cache.block_size);
  for (std::int64_t head = 0; head < cache.num_kv_heads; ++head) {
    const auto scale = static_cast<float>(scale_of(view, head));
    const std::int64_t row = row_offset(rows, token, head);
    for (std::int64_t dim = 0; dim < cache.head_dim; ++dim) {
      const std::uint32_t source = load_code(rows.data, row + dim, rows.type);
      const std::int64_t offset =
          element_offset(view, slot / cache.block_size, head, slot % cache.block_size, dim);
      store_code(cache.data, offset, cache.type, cache_code(source, rows.type, cache.type, scale));
    }
  }
}

void check_same_shape(const KvTensorView& a, const KvTensorView& b) {
  RECTO_CHECK_EQ(a.type, b.type);
  RECTO_CHECK_EQ(a.block_size, b.block_size);
  RECTO_CHECK_EQ(a.num_kv_heads, b.num_kv_heads);
  RECTO_CHECK_EQ(a.head_dim, b.head_dim);
}

void copy_block(const KvTensorView& from, const MutableKvTensorView& to, const BlockPair& pair) {
  RECTO_CHECK_LE(0, pair.source);
  RECTO_CHECK_LT(pair.source, from.num_blocks);
  RECTO_CHECK_LE(0, pair.destination);
  RECTO_CHECK_LT(pair.destination, to.num_blocks);
  const KvTensorView target = as_const(to);
  for (std::int64_t head = 0; head < from.num_kv_heads; ++head) {
    for (std::int64_t slot = 0; slot < from.block_size; ++slot) {
      for (std::int64_t dim = 0; dim < from.head_dim; ++dim) {
        const std::int64_t source = element_offset(from, pair.source, head, slot, dim);
        const std::int64_t destination = element_offset(target, pair.destination, head, slot, dim);
        store_code(to.data, destination, to.type, load_code(from.data, source, from.type));
      }
    }
  }
}

void check_disjoint(std::span<const BlockPair> pairs) {
  std::vector<std::int32_t> sources;
  for (const BlockPair& pair : pairs) sources.push_back(pair.source);
  std::sort(sources.begin(), sources.end());
  for (const BlockPair& pair : pairs) {
    RECTO_CHECK(!std::binary_search(sources.begin(), sources.end(), pair.destination));
  }
}

void gather_token(const KvTensorView& cache, std::int64_t block, std::int64_t slot,
                  const MutableRowsView& rows, std::int64_t row) {
  RECTO_CHECK_LE(0, block);
  RECTO_CHECK_LT(block, cache.num_blocks);
  RECTO_CHECK_LE(0, row);
  RECTO_CHECK_LT(row, rows.num_rows);
  for (std::int64_t head = 0; head < cache.num_kv_heads; ++head) {
    for (std::int64_t dim = 0; dim < cache.head_dim; ++dim) {
      const std::int64_t source = element_offset(cache, block, head, slot, dim);
      store_code(rows.data, row_offset(rows, row, head) + dim, rows.type,
                 load_code(cache.data, source, cache.type));
    }
  }
}

void check_target(const MutableRowsView& rows, const KvTensorView& cache) {
  RECTO_CHECK_EQ(rows.type, cache.type);
  RECTO_CHECK_EQ(rows.num_heads, cache.num_kv_heads);
  RECTO_CHECK_EQ(rows.head_dim, cache.head_dim);
}

}  // namespace

void write_kv(const KvWriteInputs& inputs) {
  const auto tokens = static_cast<std::int64_t>(inputs.slot_mapping.size());
  check_source(inputs.k, inputs.kv.k, tokens);
  check_source(inputs.v, inputs.kv.v, tokens);
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t slot = inputs.slot_mapping[static_cast<std::size_t>(token)];
    if (slot == -1) continue;
    write_token(inputs.k, token, inputs.kv.k, slot);
    write_token(inputs.v, token, inputs.kv.v, slot);
  }
}

void copy_blocks(const MutablePagedKvView& kv, std::span<const BlockPair> pairs) {
  check_disjoint(pairs);
  swap_blocks(as_const(kv), kv, pairs);
}

void swap_blocks(const PagedKvView& from, const MutablePagedKvView& to,
                 std::span<const BlockPair> pairs) {
  check_same_shape(from.k, as_const(to.k));
  check_same_shape(from.v, as_const(to.v));
  for (const BlockPair& pair : pairs) {
    copy_block(from.k, to.k, pair);
    copy_block(from.v, to.v, pair);
  }
}

void gather_kv(const GatherInputs& inputs) {
  check_target(inputs.k, inputs.kv.k);
  check_target(inputs.v, inputs.kv.v);
  const BlockTableView& table = inputs.block_table;
  const std::int64_t block_size = inputs.kv.k.block_size;
  RECTO_CHECK_EQ(inputs.context_length.size(), static_cast<std::size_t>(table.num_seqs));
  RECTO_CHECK_EQ(inputs.context_start.size(), static_cast<std::size_t>(table.num_seqs));
  for (std::int64_t seq = 0; seq < table.num_seqs; ++seq) {
    const std::int64_t start = inputs.context_start[static_cast<std::size_t>(seq)];
    const std::int64_t length = inputs.context_length[static_cast<std::size_t>(seq)];
    RECTO_CHECK_LE(length, table.max_blocks * block_size);
    for (std::int64_t token = 0; token < length; ++token) {
      const std::int64_t block = table.data[seq * table.row_stride + token / block_size];
      gather_token(inputs.kv.k, block, token % block_size, inputs.k, start + token);
      gather_token(inputs.kv.v, block, token % block_size, inputs.v, start + token);
    }
  }
}

}  // namespace recto::reference
