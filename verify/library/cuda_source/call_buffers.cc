#include "verify/library/cuda_source/call_buffers.h"

#include <algorithm>
#include <utility>

#include "core/element_type.h"
#include "core/units.h"

namespace recto {
namespace {

constexpr std::size_t kWorkspaceAlignment = 256;
constexpr std::byte kNan{0xff};

std::int64_t element_bytes(std::int32_t type) {
  return recto::element_bytes(static_cast<ElementType>(type));
}

std::int64_t span_bytes(const RectoRows& rows) {
  if (rows.num_rows == 0) return 0;
  return element_bytes(rows.type) * ((rows.num_rows - 1) * rows.row_stride +
                                     (rows.num_heads - 1) * rows.head_stride + rows.head_dim);
}

RectoRows as_const(const RectoMutableRows& rows) {
  return {rows.data,      rows.type,     rows.reserved,   rows.num_rows,
          rows.num_heads, rows.head_dim, rows.row_stride, rows.head_stride};
}

template <typename Tensor>
std::int64_t span_bytes(const Tensor& cache, std::int64_t num_blocks) {
  if (num_blocks == 0) return 0;
  const std::int64_t dims =
      cache.layout == kRectoPacked
          ? (cache.head_dim / cache.pack_width - 1) * cache.pack_stride + cache.pack_width
          : cache.head_dim;
  return element_bytes(cache.type) *
         ((num_blocks - 1) * cache.block_stride + (cache.num_kv_heads - 1) * cache.head_stride +
          (cache.block_size - 1) * cache.slot_stride + dims);
}

}  // namespace

void CallBuffers::add(const std::string& name, const void* data, std::int64_t bytes,
                      simt::BufferUse use) {
  if (bytes == 0 || data == nullptr) return;
  auto* begin = static_cast<std::byte*>(const_cast<void*>(data));
  buffers_.push_back(
      {.name = name, .data = begin, .bytes = static_cast<std::size_t>(bytes), .use = use});
  if (use != simt::BufferUse::kReadOnly) results_.push_back({name, begin, {begin, begin + bytes}});
}

template <typename Tensor>
void CallBuffers::add_cache(const std::string& name, const Tensor& cache, simt::BufferUse use) {
  add(name + ".data", cache.data, span_bytes(cache, cache.num_blocks), use);
  const std::int64_t scales[] = {0, 1, cache.num_kv_heads};
  add_array(name + ".scale", cache.scale, scales[cache.scale_kind]);
}

CallBuffers::CallBuffers(const RectoAttentionCall& call) : attention_(&call) {
  add("q.data", call.q.data, span_bytes(call.q), simt::BufferUse::kReadOnly);
  add_cache("k", call.k, simt::BufferUse::kReadOnly);
  add_cache("v", call.v, simt::BufferUse::kReadOnly);
  if (call.num_seqs > 0) {
    add_array("block_table", call.block_table,
              (call.num_seqs - 1) * call.block_table_row_stride + call.max_blocks);
  }
  add_array("context_length", call.context_length, call.num_seqs);
  add_array("query_start", call.query_start, call.num_seqs + 1);
  add_array("alibi_slopes", call.alibi_slopes, call.q.num_heads);
  add_array("sinks", call.sinks, call.q.num_heads);
  add("out.data", call.out.data, span_bytes(as_const(call.out)), simt::BufferUse::kWriteFirst);
  add("lse_ln", call.lse_ln, call.q.num_rows * call.q.num_heads * 4, simt::BufferUse::kWriteFirst);
  for (std::int64_t sequence = 0; sequence < call.num_seqs; ++sequence) {
    const std::int32_t* row = call.block_table + sequence * call.block_table_row_stride;
    std::vector<bool> blocks(static_cast<std::size_t>(call.k.num_blocks));
    const std::int64_t count =
        ceil_div(std::int64_t{call.context_length[sequence]}, call.k.block_size);
    for (std::int64_t i = 0; i < count; ++i) blocks[static_cast<std::size_t>(row[i])] = true;
    blocks_of_sequences_.push_back(std::move(blocks));
  }
}

CallBuffers::CallBuffers(const RectoKvWriteCall& call) {
  add("k.data", call.k.data, span_bytes(call.k), simt::BufferUse::kReadOnly);
  add("v.data", call.v.data, span_bytes(call.v), simt::BufferUse::kReadOnly);
  add_array("slot_mapping", call.slot_mapping, call.num_tokens);
  add_cache("k_cache", call.k_cache, simt::BufferUse::kReadWrite);
  add_cache("v_cache", call.v_cache, simt::BufferUse::kReadWrite);
}

void* CallBuffers::add_workspace(const std::string& name, std::int64_t bytes, Initially contents) {
  if (bytes <= 0) return nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  const bool is_zero = contents == Initially::kZeros;
  Workspace& made = workspaces_.emplace_back();
  made.initially = is_zero ? std::byte{0} : kNan;
  made.room.assign(size + kWorkspaceAlignment, made.initially);
  const auto begin = reinterpret_cast<std::uintptr_t>(made.room.data());
  made.buffer = {.name = name,
                 .data = made.room.data() + (kWorkspaceAlignment - begin % kWorkspaceAlignment),
                 .bytes = size,
                 .use = is_zero ? simt::BufferUse::kReadWrite : simt::BufferUse::kWriteFirst};
  return made.buffer.data;
}

void CallBuffers::blocks_communicate(const void* data) {
  if (data != nullptr) communicating_.push_back(data);
}

// Limits accesses to the cache blocks that each sequence's context addresses, or that all
// sequences' do if the mapping of thread blocks to sequences is unknown.
void CallBuffers::bound(const RectoKvTensor& cache) {
  const std::int64_t block_bytes = cache.block_stride * element_bytes(cache.type);
  for (simt::Buffer& buffer : buffers_) {
    // Interleaved blocks are not separate pieces of memory.
    if (buffer.data != cache.data || span_bytes(cache, 1) > block_bytes) continue;
    buffer.logical_bounds = {.piece_bytes = static_cast<std::size_t>(block_bytes),
                             .may_touch = blocks_of_sequences_,
                             .owner_of_block = sequence_of_thread_block_};
    if (!sequence_of_thread_block_.empty() || blocks_of_sequences_.empty()) continue;
    std::vector<bool> all(blocks_of_sequences_[0].size());
    for (const std::vector<bool>& blocks : blocks_of_sequences_) {
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i] || blocks[i];
    }
    buffer.logical_bounds->may_touch = {all};
  }
}

Status CallBuffers::add_to(simt::DeviceMemory& known) {
  if (attention_ != nullptr && attention_->k.num_blocks > 0) {
    bound(attention_->k);
    bound(attention_->v);
  }
  std::vector<const void*> left = communicating_;
  const auto add = [&](simt::Buffer buffer) {
    buffer.blocks_communicate = std::erase(left, buffer.data) > 0;
    return known.add(std::move(buffer));
  };
  for (const simt::Buffer& buffer : buffers_) RECTO_RETURN_IF_ERROR(add(buffer));
  for (Workspace& workspace : workspaces_) {
    std::fill_n(workspace.buffer.data, workspace.buffer.bytes, workspace.initially);
    RECTO_RETURN_IF_ERROR(add(workspace.buffer));
  }
  if (left.empty()) return Status::ok();
  return Status::invalid_input(
      "blocks_communicate: expected the start of a workspace, or of a buffer of the call");
}

}  // namespace recto
