#include "verify/ptx/machine/bulk_transfer.h"

#include <algorithm>
#include <cstring>

namespace recto::ptx {
namespace {

constexpr std::uint32_t kPieceBytes = 16;  // swizzling moves these

// Elements out of bounds, up to `end` bytes of a line.
void fill(const TensorMap& map, std::byte* to, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t size = element_bytes(map.element);
  const std::uint64_t pattern = fill_pattern(map);
  for (std::uint32_t i = begin; i < end; i += size) std::memcpy(to + i, &pattern, size);
}

// The pieces of a line; the part of it that lies in the tensor is copied.
void run_line(const BulkTransfer& transfer, const BoxLine& line, std::uint32_t bytes) {
  const TensorMap& map = transfer.box->map;
  const auto bound = [](std::uint32_t at, std::uint32_t piece) {
    return at <= piece ? 0 : std::min(at - piece, kPieceBytes);
  };
  for (std::uint32_t piece = 0; piece < bytes; piece += kPieceBytes) {
    std::byte* const shared =
        transfer.shared + swizzled(transfer.offset + line.shared_offset + piece, map.swizzle);
    const std::uint32_t begin = bound(line.begin, piece);
    const std::uint32_t end = std::max(bound(line.end, piece), begin);
    auto* const global = reinterpret_cast<std::byte*>(line.global_address + piece + begin);
    if (!transfer.is_to_shared) {
      std::memcpy(global, shared + begin, end - begin);
      continue;
    }
    fill(map, shared, 0, begin);
    if (end > begin) std::memcpy(shared + begin, global, end - begin);
    fill(map, shared, end, kPieceBytes);
  }
}

}  // namespace

void run(const BulkTransfer& transfer) {
  std::byte* const shared = transfer.shared + transfer.offset;
  if (transfer.box) {
    const TensorBox& box = *transfer.box;
    const std::vector<BoxLine> lines = box_lines(box.map, box.coordinates);
    const auto bytes = static_cast<std::uint32_t>(transfer.bytes / lines.size());
    for (const BoxLine& line : lines) run_line(transfer, line, bytes);
  } else if (transfer.is_to_shared) {
    std::memcpy(shared, transfer.other, transfer.bytes);
  } else {
    std::memcpy(transfer.other, shared, transfer.bytes);
  }
}

}  // namespace recto::ptx
