#pragma once

// Copies the data of a call into guarded buffers, one after the other, until one does not fit.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "verify/laws/cache_operations/narrow_offsets.h"
#include "verify/library/guarded_arena.h"
#include "verify/library/kernel_request.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {

inline constexpr std::int64_t kVectorBytes = 16;
inline constexpr std::int64_t kMessageBytes = 512;
// From larger pools only blocks are copied: those that contexts address, or all if they are
// written.
inline constexpr std::int64_t kWholePoolBytesMax = std::int64_t{1} << 30;

// Bytes from the first to the last element of the view.
template <typename Pointer>
std::int64_t span_bytes(const BasicRowsView<Pointer>& rows) {
  if (rows.num_rows == 0) return 0;
  return element_bytes(rows.type) * ((rows.num_rows - 1) * rows.row_stride +
                                     (rows.num_heads - 1) * rows.head_stride + rows.head_dim);
}

template <typename Pointer>
std::int64_t span_bytes(const BasicKvTensorView<Pointer>& cache) {
  if (cache.num_blocks == 0) return 0;
  const bool is_packed = cache.layout == KvLayout::kPacked;
  const std::int64_t dims =
      is_packed ? (cache.head_dim / cache.pack_width - 1) * cache.pack_stride + cache.pack_width
                : cache.head_dim;
  return element_bytes(cache.type) * ((cache.num_blocks - 1) * cache.block_stride +
                                      (cache.num_kv_heads - 1) * cache.head_stride +
                                      (cache.block_size - 1) * cache.slot_stride + dims);
}

class RequestBuilder {
 public:
  // Bit i of `ends` selects the guarded end of buffer i.
  RequestBuilder(GuardedArena& arena, std::uint64_t ends) : arena_(arena), ends_(ends) {
    arena_.clear();
  }

  const Status& status() const { return status_; }
  bool has_far_blocks() const { return has_far_blocks_; }
  // All data that the library may read, except the zeros of large pools.
  std::span<const std::span<const std::byte>> contents() const { return contents_; }

  // A buffer that the library may read or write, filled from `data` unless that is null.
  GuardedBuffer buffer(const BufferRequest& request, const void* data) {
    BufferRequest guarded = request;
    guarded.end = (ends_ & 1) == 0 ? GuardedEnd::kBack : GuardedEnd::kFront;
    ends_ >>= 1;
    if (!status_.is_ok()) return {};
    const Result<GuardedBuffer> added = arena_.add(guarded);
    status_ = added.status();
    if (!added.is_ok()) return {};
    if (!request.is_sparse) contents_.push_back({added.value().ours, bytes_of(request)});
    if (data != nullptr) std::memcpy(added.value().ours, data, bytes_of(request));
    return added.value();
  }

  // Null if `values` has no address; an empty array with an address still gets a buffer.
  template <typename T>
  const T* array(const char* name, std::span<const T> values) {
    if (values.data() == nullptr) return nullptr;
    return reinterpret_cast<const T*>(buffer({.name = name,
                                              .bytes = std::ssize(values) * std::int64_t{sizeof(T)},
                                              .alignment = sizeof(T)},
                                             values.data())
                                          .theirs);
  }

  RectoRows rows(const char* name, const RowsView& view) {
    const GuardedBuffer held =
        buffer({.name = name, .bytes = span_bytes(view), .alignment = kVectorBytes}, view.data);
    return {.data = held.theirs,
            .type = static_cast<std::int32_t>(view.type),
            .reserved = 0,
            .num_rows = view.num_rows,
            .num_heads = view.num_heads,
            .head_dim = view.head_dim,
            .row_stride = view.row_stride,
            .head_stride = view.head_stride};
  }

  // Makes a RectoKvTensor or RectoMutableKvTensor over `held`.
  template <typename Tensor, typename Pointer>
  Tensor cache(const BasicKvTensorView<Pointer>& view, const GuardedBuffer& held,
               const char* scale_name) {
    const std::int64_t scales[] = {0, 1, view.num_kv_heads};
    const auto count = static_cast<std::size_t>(scales[static_cast<int>(view.scale.kind)]);
    Tensor tensor = {};
    tensor.data = held.theirs;
    tensor.type = static_cast<std::int32_t>(view.type);
    tensor.layout = static_cast<std::int32_t>(view.layout);
    tensor.num_blocks = view.num_blocks;
    tensor.block_size = view.block_size;
    tensor.num_kv_heads = view.num_kv_heads;
    tensor.head_dim = view.head_dim;
    tensor.block_stride = view.block_stride;
    tensor.head_stride = view.head_stride;
    tensor.slot_stride = view.slot_stride;
    tensor.pack_width = view.pack_width;
    tensor.pack_stride = view.pack_stride;
    tensor.scale = count == 0 ? nullptr : array(scale_name, std::span(view.scale.data, count));
    tensor.scale_kind = static_cast<std::int32_t>(view.scale.kind);
    return tensor;
  }

  // `blocks` are the addressed ones.
  RectoKvTensor read_cache(const char* name, const char* scale_name, const KvTensorView& view,
                           const std::set<std::int64_t>& blocks) {
    BufferRequest request = {.name = name, .bytes = span_bytes(view), .alignment = kVectorBytes};
    request.is_sparse = request.bytes > kWholePoolBytesMax;
    const GuardedBuffer held = buffer(request, request.is_sparse ? nullptr : view.data);
    if (request.is_sparse && status_.is_ok()) copy_blocks(view, blocks, held);
    has_far_blocks_ = has_far_blocks_ || request.is_sparse;
    return cache<RectoKvTensor>(view, held, scale_name);
  }

  // Includes the memory before a large cache, as far as an offset that lost its upper half can
  // reach.
  WrittenBuffer written_cache(const char* name, const MutableKvTensorView& view) {
    if (span_bytes(view) <= kWholePoolBytesMax)
      return {.buffer = written(name, span_bytes(view), view.data)};
    MutableKvTensorView one = view;
    one.num_blocks = 1;
    const std::int64_t element = element_bytes(view.type);
    const FarBlocks far{.num_blocks = view.num_blocks,
                        .stride = view.block_stride,
                        .elements = span_bytes(one) / element,
                        .element_bytes = element};
    has_far_blocks_ = true;
    const GuardedBuffer held = buffer({.name = name,
                                       .bytes = span_bytes(view),
                                       .alignment = kVectorBytes,
                                       .access = BufferAccess::kWrite,
                                       .is_sparse = true,
                                       .bytes_before = element << 31},
                                      nullptr);
    if (status_.is_ok()) copy_far_blocks(as_const(view), far, held);
    return {.buffer = held, .far = far};
  }

  // `data` is null if the buffer has no earlier contents.
  GuardedBuffer written(const char* name, std::int64_t bytes, const void* data) {
    return buffer(
        {.name = name, .bytes = bytes, .alignment = kVectorBytes, .access = BufferAccess::kWrite},
        data);
  }

  RectoCallContext context(std::size_t struct_bytes, GuardedBuffer& message) {
    message = written("message", kMessageBytes, nullptr);
    if (message.ours != nullptr) std::memset(message.ours, 0, kMessageBytes);
    return {.struct_bytes = struct_bytes,
            .memory = kRectoHostMemory,
            .device = 0,
            .stream = nullptr,
            .message = reinterpret_cast<char*>(message.theirs),
            .message_bytes = kMessageBytes};
  }

 private:
  static std::size_t bytes_of(const BufferRequest& request) {
    return static_cast<std::size_t>(request.bytes);
  }

  void copy_blocks(const KvTensorView& view, const std::set<std::int64_t>& blocks,
                   const GuardedBuffer& held) {
    KvTensorView one = view;
    one.num_blocks = 1;
    const auto bytes = static_cast<std::size_t>(span_bytes(one));
    for (const std::int64_t block : blocks) {
      const std::int64_t offset = block * view.block_stride * element_bytes(view.type);
      std::memcpy(held.ours + offset, static_cast<const std::byte*>(view.data) + offset, bytes);
      contents_.push_back({held.ours + offset, bytes});
    }
  }

  // Copies all blocks. Also fills the places where narrow offsets of them lead, so that code that
  // copies filled memory copies these places too.
  void copy_far_blocks(const KvTensorView& view, const FarBlocks& far, const GuardedBuffer& held) {
    watch_narrow_offsets(held.ours, far);
    std::set<std::int64_t> blocks;
    for (std::int64_t block = 0; block < far.num_blocks; ++block) blocks.insert(block);
    copy_blocks(view, blocks, held);
  }

  GuardedArena& arena_;
  std::uint64_t ends_;
  Status status_;
  bool has_far_blocks_ = false;
  std::vector<std::span<const std::byte>> contents_;
};

}  // namespace recto::verify
