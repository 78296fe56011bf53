#include "verify/kernels/device_call.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "core/units.h"

namespace recto::verify {
namespace {

simt::Buffer buffer_of(const std::string& name, const void* data, std::int64_t bytes,
                       simt::BufferUse use) {
  return {.name = name,
          .data = static_cast<std::byte*>(const_cast<void*>(data)),
          .bytes = static_cast<std::size_t>(bytes),
          .use = use};
}

const std::byte* end_of(const simt::Buffer& buffer) { return buffer.data + buffer.bytes; }

// Bytes from the first to the last element; 0 without elements.
std::int64_t span_bytes(const RowsView& rows) {
  if (rows.num_rows == 0) return 0;
  return element_bytes(rows.type) * ((rows.num_rows - 1) * rows.row_stride +
                                     (rows.num_heads - 1) * rows.head_stride + rows.head_dim);
}

// Elements from the first to the last of a slot.
std::int64_t slot_span(const KvTensorView& tensor) {
  if (tensor.layout != KvLayout::kPacked) return tensor.head_dim;
  const std::int64_t packs = tensor.head_dim / tensor.pack_width;
  return (packs - 1) * tensor.pack_stride + tensor.pack_width;
}

std::int64_t span_bytes(const KvTensorView& tensor) {
  if (tensor.num_blocks == 0) return 0;
  return element_bytes(tensor.type) *
         ((tensor.num_blocks - 1) * tensor.block_stride +
          (tensor.num_kv_heads - 1) * tensor.head_stride +
          (tensor.block_size - 1) * tensor.slot_stride + slot_span(tensor));
}

std::int64_t span_bytes(const BlockTableView& table) {
  if (table.num_seqs == 0) return 0;
  return ((table.num_seqs - 1) * table.row_stride + table.max_blocks) *
         std::int64_t{sizeof(std::int32_t)};
}

std::span<const float> scale_values(const KvTensorView& tensor) {
  const KvScale& scale = tensor.scale;
  if (scale.kind == ScaleKind::kNone) return {};
  const std::int64_t size = scale.kind == ScaleKind::kPerTensor ? 1 : tensor.num_kv_heads;
  return {scale.data, static_cast<std::size_t>(size)};
}

// The blocks that each sequence's context addresses.
std::vector<std::vector<bool>> blocks_of_sequences(const KvTensorView& tensor,
                                                   const BlockTableView& table,
                                                   std::span<const std::int32_t> context_length) {
  std::vector<std::vector<bool>> owned;
  for (std::size_t sequence = 0; sequence < context_length.size(); ++sequence) {
    std::vector<bool> blocks(static_cast<std::size_t>(tensor.num_blocks), false);
    const std::int32_t* row = table.data + static_cast<std::int64_t>(sequence) * table.row_stride;
    const std::int64_t count = ceil_div(std::int64_t{context_length[sequence]}, tensor.block_size);
    for (std::int64_t i = 0; i < count; ++i) blocks[static_cast<std::size_t>(row[i])] = true;
    owned.push_back(std::move(blocks));
  }
  return owned;
}

// Whether blocks follow one another in memory without interleaving.
bool has_blocks_apart(const KvTensorView& tensor) {
  KvTensorView block = tensor;
  block.num_blocks = 1;
  return span_bytes(block) <= tensor.block_stride * element_bytes(tensor.type);
}

// Owner i may access blocks[i], out of `num_blocks`.
simt::LogicalBounds bounds_of(std::span<const std::vector<std::int64_t>> blocks,
                              std::int64_t num_blocks, BlockOwners owners) {
  simt::LogicalBounds bounds;
  bounds.owner_of_block = std::move(owners);
  for (const std::vector<std::int64_t>& own : blocks) {
    auto& may_touch = bounds.may_touch.emplace_back(static_cast<std::size_t>(num_blocks));
    for (const std::int64_t block : own) may_touch[static_cast<std::size_t>(block)] = true;
  }
  return bounds;
}

// The bounds of both, if each piece of the first contains the same piece of the second, as with K
// and V of an interleaved pool; else none.
std::optional<simt::LogicalBounds> common_bounds(const simt::Buffer& first,
                                                 const simt::Buffer& second) {
  if (!first.logical_bounds || !second.logical_bounds) return std::nullopt;
  const simt::LogicalBounds& a = *first.logical_bounds;
  const simt::LogicalBounds& b = *second.logical_bounds;
  if (a.piece_bytes != b.piece_bytes || a.may_touch != b.may_touch || a.may_touch.empty() ||
      a.owner_of_block != b.owner_of_block) {
    return std::nullopt;
  }
  // The size of a piece of the second without the gap after it, which the last one lacks.
  const std::size_t piece = second.bytes - (a.may_touch[0].size() - 1) * a.piece_bytes;
  const auto offset = static_cast<std::size_t>(second.data - first.data);
  return offset + piece <= a.piece_bytes ? first.logical_bounds : std::nullopt;
}

}  // namespace

bool runs_on_gpu() { return false; }
bool runs_on_hopper() { return false; }

std::optional<std::string> why_no_gpu() {
  return "this program has only the CPU executor's build of the kernels";
}

BlockOwners owners_in_turn(std::int64_t thread_blocks, std::int64_t owners) {
  BlockOwners all;
  for (std::int64_t i = 0; i < thread_blocks; ++i) {
    all.push_back(static_cast<std::uint32_t>(i % owners));
  }
  return all;
}

BlockOwners owners_in_runs(std::int64_t blocks_of_each, std::int64_t owners) {
  BlockOwners all;
  for (std::int64_t i = 0; i < blocks_of_each * owners; ++i) {
    all.push_back(static_cast<std::uint32_t>(i / blocks_of_each));
  }
  return all;
}

void DeviceCall::add_read(const std::string& name, const void* data, std::int64_t bytes) {
  if (bytes > 0) reads_.push_back(buffer_of(name, data, bytes, simt::BufferUse::kReadOnly));
}

void DeviceCall::add_read(const std::string& name, const RowsView& rows) {
  add_read(name, rows.data, span_bytes(rows));
}

void DeviceCall::add_read(const std::string& name, const BlockTableView& table) {
  add_read(name, table.data, span_bytes(table));
}

void DeviceCall::add_pool(std::vector<simt::Buffer>& buffers, const std::string& name,
                          const KvTensorView& pool, simt::BufferUse use,
                          simt::LogicalBounds bounds) {
  if (pool.num_blocks == 0) return;
  buffers.push_back(buffer_of(name, pool.data, span_bytes(pool), use));
  if (!has_blocks_apart(pool)) return;
  bounds.piece_bytes = static_cast<std::size_t>(pool.block_stride * element_bytes(pool.type));
  buffers.back().logical_bounds = std::move(bounds);
}

void DeviceCall::add_contexts(const PagedKvView& kv, const BlockTableView& table,
                              std::span<const std::int32_t> context_length, BlockOwners sequences) {
  simt::LogicalBounds bounds;
  bounds.may_touch = blocks_of_sequences(kv.k, table, context_length);
  bounds.owner_of_block = std::move(sequences);
  add_pool(reads_, "k_cache", kv.k, simt::BufferUse::kReadOnly, bounds);
  add_pool(reads_, "v_cache", kv.v, simt::BufferUse::kReadOnly, bounds);
  add_read("k_scale", scale_values(kv.k));
  add_read("v_scale", scale_values(kv.v));
  add_read("block_table", table);
  add_read("context_length", context_length);
}

void DeviceCall::add_read(const std::string& name, const PagedKvView& kv,
                          std::span<const std::vector<std::int64_t>> blocks, BlockOwners owners) {
  const simt::LogicalBounds bounds = bounds_of(blocks, kv.k.num_blocks, std::move(owners));
  add_pool(reads_, name + ".k", kv.k, simt::BufferUse::kReadOnly, bounds);
  add_pool(reads_, name + ".v", kv.v, simt::BufferUse::kReadOnly, bounds);
}

void DeviceCall::add_write(const std::string& name, void* data, std::int64_t bytes,
                           simt::BufferUse use) {
  if (bytes > 0) RECTO_CHECK_EQ(memory_.add(buffer_of(name, data, bytes, use)), Status::ok());
}

void DeviceCall::add_write(const std::string& name, const MutableRowsView& rows) {
  add_write(name, rows.data, span_bytes(as_const(rows)), simt::BufferUse::kWriteFirst);
}

void DeviceCall::add_update(const std::string& name, const MutableRowsView& rows) {
  add_write(name, rows.data, span_bytes(as_const(rows)), simt::BufferUse::kReadWrite);
}

void DeviceCall::add_write(const MutablePagedKvView& kv,
                           std::span<const std::vector<std::int64_t>> blocks, BlockOwners owners) {
  const simt::LogicalBounds bounds = bounds_of(blocks, kv.k.num_blocks, std::move(owners));
  add_pool(pools_, "k_cache", recto::as_const(kv.k), simt::BufferUse::kReadWrite, bounds);
  add_pool(pools_, "v_cache", recto::as_const(kv.v), simt::BufferUse::kReadWrite, bounds);
  add_read("k_scale", scale_values(recto::as_const(kv.k)));
  add_read("v_scale", scale_values(recto::as_const(kv.v)));
}

// Overlapping buffers are merged into one: K and V may interleave, or Q, K and V may share rows.
void DeviceCall::register_merged(std::vector<simt::Buffer>& buffers) {
  std::ranges::sort(buffers, {}, &simt::Buffer::data);
  for (auto first = buffers.begin(); first != buffers.end();) {
    simt::Buffer buffer = *first;
    for (++first; first != buffers.end() && first->data < end_of(buffer); ++first) {
      buffer.name += ", " + first->name;
      buffer.logical_bounds = common_bounds(buffer, *first);
      const std::byte* end = std::max(end_of(buffer), end_of(*first));
      buffer.bytes = static_cast<std::size_t>(end - buffer.data);
    }
    RECTO_CHECK_EQ(memory_.add(std::move(buffer)), Status::ok());
  }
}

void DeviceCall::run(const ObserverMaker& make_observer,
                     const std::function<Status(simt::Stream& stream)>& launch) {
  register_merged(reads_);
  register_merged(pools_);
  const std::shared_ptr<simt::Observer> observer = make_observer ? make_observer(memory_) : nullptr;
  executor_.set_observer(observer.get());
  simt::Stream stream(executor_);
  const Status launched = launch(stream);
  const simt::LaunchReport& report = stream.synchronise();
  executor_.set_observer(nullptr);
  if (!launched.is_ok()) {
    internal::fail_condition(__FILE__, __LINE__, "the launch is served", launched.message());
  }
  if (!report.passed()) {
    internal::fail_condition(__FILE__, __LINE__, "nothing is found in the kernels", report.text());
  }
}

}  // namespace recto::verify
