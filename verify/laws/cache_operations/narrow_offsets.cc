#include "verify/laws/cache_operations/narrow_offsets.h"

#include <fmt/format.h>

#include <algorithm>

namespace recto::verify {
namespace {

std::string place_text(const std::string& pool, std::int64_t element) {
  return element < 0 ? fmt::format("a write {} elements before {}", -element, pool)
                     : fmt::format("a write {} elements into {}, between blocks", element, pool);
}

}  // namespace

std::array<NarrowOffset, 4> narrow_offsets(std::int64_t element, std::int64_t element_bytes) {
  const std::int64_t byte = element * element_bytes;
  return {{{"int32 of elements", static_cast<std::int32_t>(element)},
           {"uint32 of elements", static_cast<std::uint32_t>(element)},
           {"int32 of bytes", static_cast<std::int32_t>(byte) / element_bytes},
           {"uint32 of bytes", static_cast<std::uint32_t>(byte) / element_bytes}}};
}

void watch_narrow_offsets(std::byte* first, const FarBlocks& blocks) {
  for (std::int64_t block = 0; block < blocks.num_blocks; ++block) {
    const std::int64_t right = block * blocks.stride;
    for (const NarrowOffset& narrow : narrow_offsets(right, blocks.element_bytes)) {
      if (narrow.element == right) continue;
      std::fill_n(first + narrow.element * blocks.element_bytes,
                  blocks.elements * blocks.element_bytes, kWatchedByte);
    }
  }
}

std::optional<std::int64_t> changed_narrow_offset(const std::byte* first, const FarBlocks& blocks) {
  for (std::int64_t block = 0; block < blocks.num_blocks; ++block) {
    const std::int64_t right = block * blocks.stride;
    for (const NarrowOffset& narrow : narrow_offsets(right, blocks.element_bytes)) {
      if (narrow.element == right) continue;
      const std::int64_t end = narrow.element + blocks.elements;
      for (std::int64_t element = narrow.element; element < end; ++element) {
        const std::byte* const bytes = first + element * blocks.element_bytes;
        const bool is_as_filled = std::all_of(bytes, bytes + blocks.element_bytes,
                                              [](std::byte byte) { return byte == kWatchedByte; });
        if (!is_as_filled && !is_in_block(blocks, element)) return element;
      }
    }
  }
  return std::nullopt;
}

bool is_in_block(const FarBlocks& blocks, std::int64_t element) {
  return element >= 0 && element / blocks.stride < blocks.num_blocks &&
         element % blocks.stride < blocks.elements;
}

std::string stray_write_text(const std::string& pool, const FarBlocks& blocks,
                             std::int64_t element) {
  for (std::int64_t block = 0; block < blocks.num_blocks; ++block) {
    const std::int64_t right = block * blocks.stride;
    std::string kept;
    std::int64_t meant = 0;
    for (const NarrowOffset& narrow : narrow_offsets(right, blocks.element_bytes)) {
      const std::int64_t within = element - narrow.element;
      if (narrow.element == right || within < 0 || within >= blocks.elements) continue;
      kept += fmt::format("{}{}", kept.empty() ? "" : " or ", narrow.how);
      meant = right + within;
    }
    if (kept.empty()) continue;
    return fmt::format(
        "{}: where an offset kept as {} leads in place of {} elements, {} bytes, in block {}",
        place_text(pool, element), kept, meant, meant * blocks.element_bytes, block);
  }
  return place_text(pool, element);
}

}  // namespace recto::verify
