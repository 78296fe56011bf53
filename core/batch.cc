#include "core/batch.h"

#include <algorithm>

#include "core/contract.h"
#include "core/units.h"

namespace recto {
namespace {

std::size_t bytes_of(std::int64_t elements, ElementType type) {
  return static_cast<std::size_t>(elements * element_bytes(type));
}

std::vector<std::byte> filled_pool(const KvTensorView& layout, std::byte fill) {
  return std::vector<std::byte>(bytes_of(layout.num_blocks * layout.block_stride, layout.type),
                                fill);
}

std::vector<std::byte> copied_pool(const KvTensorView& cache) {
  const auto* const first = static_cast<const std::byte*>(cache.data);
  return {first, first + bytes_of(cache.num_blocks * cache.block_stride, cache.type)};
}

KvScale scale_view(const std::vector<float>& scales) {
  if (scales.empty()) return {};
  return {.kind = scales.size() == 1 ? ScaleKind::kPerTensor : ScaleKind::kPerKvHead,
          .data = scales.data()};
}

}  // namespace

MutablePagedKvView KvPools::over(const PagedKvView& layout) {
  return {.k = view_over<void*>(layout.k, k.data()), .v = view_over<void*>(layout.v, v.data())};
}

KvPools filled_pools(const PagedKvView& layout, std::byte fill) {
  return {.k = filled_pool(layout.k, fill), .v = filled_pool(layout.v, fill)};
}

KvPools copied_pools(const PagedKvView& kv) {
  return {.k = copied_pool(kv.k), .v = copied_pool(kv.v)};
}

void give_blocks(std::span<BatchSequence> sequences, std::int64_t block_size,
                 std::span<const std::int32_t> ids) {
  for (BatchSequence& sequence : sequences) {
    const std::int64_t count = ceil_div(sequence.context_length, block_size);
    RECTO_CHECK_LE(count, std::ssize(ids));
    const auto own = ids.first(static_cast<std::size_t>(count));
    sequence.blocks.assign(own.begin(), own.end());
    ids = ids.subspan(own.size());
  }
}

std::vector<std::int32_t> scattered_ids(std::int64_t num_blocks) {
  RECTO_CHECK_NE(num_blocks % 37, 0);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    ids.push_back(static_cast<std::int32_t>(i * 37 % num_blocks));
  }
  return ids;
}

BatchLists::BatchLists(std::span<const BatchSequence> sequences, TableSize size)
    : query_start{0}, table_size(size) {
  std::size_t longest = 1;
  for (const BatchSequence& sequence : sequences) {
    longest = std::max(longest, sequence.blocks.size());
    query_start.push_back(query_start.back() + static_cast<std::int32_t>(sequence.num_rows));
    context_length.push_back(static_cast<std::int32_t>(sequence.context_length));
  }
  if (table_size.max_blocks == 0) table_size.max_blocks = static_cast<std::int64_t>(longest);
  if (table_size.row_stride == 0) table_size.row_stride = table_size.max_blocks;
  const auto stride = static_cast<std::size_t>(table_size.row_stride);
  RECTO_CHECK_LE(longest, stride);
  for (const BatchSequence& sequence : sequences) {
    block_table.insert(block_table.end(), sequence.blocks.begin(), sequence.blocks.end());
    block_table.resize(block_table.size() + stride - sequence.blocks.size(), -1);
  }
}

BlockTableView BatchLists::table() const {
  return {.data = block_table.data(),
          .num_seqs = std::ssize(context_length),
          .max_blocks = table_size.max_blocks,
          .row_stride = table_size.row_stride};
}

Batch::Batch(const BatchLayout& layout)
    : pools(filled_pools(layout.kv, layout.fill)),
      lists(layout.sequences, layout.table_size),
      options(layout.options),
      k_scales(layout.k_scales),
      v_scales(layout.v_scales),
      kv(pools.over(layout.kv)) {
  kv.k.scale = scale_view(k_scales);
  kv.v.scale = scale_view(v_scales);
  inputs = {.q = layout.q,
            .kv = as_const(kv),
            .block_table = lists.table(),
            .query_start = lists.query_start,
            .context_length = lists.context_length,
            .options = options_as<AttentionOptions>(options)};
  inputs.q.num_rows = lists.num_rows();
  const std::int64_t elements = std::max<std::int64_t>(1, inputs.q.num_rows * inputs.q.row_stride);
  q.assign(bytes_of(elements, inputs.q.type), layout.fill);
  inputs.q.data = q.data();
}

}  // namespace recto
