#include "verify/library/kernel_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "core/units.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

// Sizes and strides of out's heads and rows, in bytes.
struct OutBytes {
  std::size_t head = 0;         // all elements of a head
  std::size_t head_stride = 0;  // from head to head
  std::size_t row = 0;          // from a row's first element to its last
  std::size_t row_stride = 0;   // from row to row
};

OutBytes out_bytes(const KernelRequest& request) {
  RectoAttentionCall call;
  std::memcpy(&call, request.call.data(), sizeof(call));
  const auto bytes =
      static_cast<std::size_t>(element_bytes(static_cast<ElementType>(call.out.type)));
  OutBytes out{.head = static_cast<std::size_t>(call.out.head_dim) * bytes,
               .head_stride = static_cast<std::size_t>(call.out.head_stride) * bytes,
               .row_stride = static_cast<std::size_t>(call.out.row_stride) * bytes};
  out.row = static_cast<std::size_t>(call.out.num_heads - 1) * out.head_stride + out.head;
  return out;
}

std::int64_t block_bytes(const FarBlocks& far) { return far.elements * far.element_bytes; }

std::int64_t offset_of(const FarBlocks& far, std::int64_t block) {
  return block * far.stride * far.element_bytes;
}

// Outside blocks, the library was given only zeros and watched bytes.
std::optional<std::int64_t> written_between_blocks(const GuardedBuffer& buffer,
                                                   const FarBlocks& far,
                                                   const GuardedArena& arena) {
  for (const std::span<const std::byte> filled : arena.filled_bytes(buffer)) {
    for (const std::byte& byte : filled) {
      if (byte == std::byte{} || byte == kWatchedByte) continue;
      const std::int64_t place = &byte - buffer.ours;
      const std::int64_t element =
          place < 0 ? -ceil_div(-place, far.element_bytes) : place / far.element_bytes;
      if (!is_in_block(far, element)) return element;
    }
  }
  return std::nullopt;
}

}  // namespace

reference::AttentionResult attention_result(const PagedAttentionInputs& inputs,
                                            const KernelRequest& request,
                                            const std::vector<std::byte>& out,
                                            const std::vector<std::byte>& lse_ln) {
  const RowsView& q = inputs.q;
  reference::AttentionResult result(q.num_rows, q.num_heads, inputs.kv.v.head_dim);
  const OutBytes bytes = out_bytes(request);
  const auto heads = static_cast<std::size_t>(q.num_heads);
  const auto dims = static_cast<std::size_t>(inputs.kv.v.head_dim);
  for (std::size_t i = 0; i < static_cast<std::size_t>(q.num_rows) * heads; ++i) {
    const std::size_t offset = i / heads * bytes.row_stride + i % heads * bytes.head_stride;
    reference::decode_row(out.data() + offset, q.type,
                          std::span(result.out).subspan(i * dims, dims));
  }
  for (std::size_t i = 0; i < result.lse_ln.size(); ++i) {
    float value = 0;
    std::memcpy(&value, lse_ln.data() + i * sizeof(float), sizeof(float));
    result.lse_ln[i] = value;
  }
  return result;
}

std::vector<std::byte> contents_of(const WrittenBuffer& written) {
  const GuardedBuffer& buffer = written.buffer;
  if (!written.far) return {buffer.ours, buffer.ours + buffer.bytes};
  std::vector<std::byte> contents;
  for (std::int64_t block = 0; block < written.far->num_blocks; ++block) {
    const std::byte* const first = buffer.ours + offset_of(*written.far, block);
    contents.insert(contents.end(), first, first + block_bytes(*written.far));
  }
  return contents;
}

void put_back(const WrittenBuffer& written, const std::vector<std::byte>& contents, void* pool) {
  auto* const first = static_cast<std::byte*>(pool);
  if (!written.far) {
    std::ranges::copy(contents, first);
    return;
  }
  const std::int64_t bytes = block_bytes(*written.far);
  for (std::int64_t block = 0; block < written.far->num_blocks; ++block) {
    std::memcpy(first + offset_of(*written.far, block), contents.data() + block * bytes,
                static_cast<std::size_t>(bytes));
  }
}

void put_back_before(const KernelRequest& request) {
  for (std::size_t i = 0; i < std::size(request.written); ++i)
    put_back(request.written[i], request.before[i], request.written[i].buffer.ours);
  request.message.ours[0] = std::byte{};
}

std::string stray_text(const KernelRequest& request, const GuardedArena& arena) {
  for (const auto& [buffer, far] : request.written) {
    if (!far) continue;
    std::optional<std::int64_t> element = changed_narrow_offset(buffer.ours, *far);
    if (!element) element = written_between_blocks(buffer, *far, arena);
    if (element) return stray_write_text(buffer.name, *far, *element);
  }
  return {};
}

std::string gap_text(const KernelRequest& request, const std::vector<std::byte>& out) {
  const OutBytes bytes = out_bytes(request);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == request.before[0][i]) continue;
    const std::size_t row = i / bytes.row_stride;
    const std::size_t in_row = i % bytes.row_stride;
    if (in_row >= bytes.row) {
      return fmt::format("a write between rows {} and {} of out, at byte {} of the gap of {}", row,
                         row + 1, in_row - bytes.row, bytes.row_stride - bytes.row);
    }
    const std::size_t head = in_row / bytes.head_stride;
    const std::size_t in_head = in_row % bytes.head_stride;
    if (in_head < bytes.head) continue;
    return fmt::format(
        "a write between heads {} and {} of row {} of out, at byte {} of the gap of {}", head,
        head + 1, row, in_head - bytes.head, bytes.head_stride - bytes.head);
  }
  return {};
}

}  // namespace recto::verify
