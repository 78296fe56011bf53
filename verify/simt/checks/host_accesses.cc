// What the host program does to buffers that kernels may read.

#include <fmt/format.h>

#include <algorithm>

#include "core/contract.h"
#include "verify/simt/checks/access_checker.h"

namespace recto::simt {
namespace {

constexpr Stamp kHostWrite(AccessOrder::kHostEpoch, 0, 1);

// Sets all records of these bytes as if the host had just accessed them.
void mark_bytes(GlobalBuffer& buffer, std::uintptr_t address, std::size_t bytes, Stamp write) {
  if (!buffer.has_cells()) return;
  buffer.cells.for_each(address - buffer.begin, bytes,
                        [write](AccessRecord& record, std::size_t, std::size_t) {
                          const Division division = record.division;
                          record = {.write = write, .division = division};
                        });
}

void mark(GlobalBuffers& buffers, const void* data, std::size_t bytes, Stamp write) {
  buffers.refresh();
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  GlobalBuffer* buffer = buffers.buffer_at(address);
  RECTO_CHECK(buffer != nullptr && bytes <= buffer->end - address);
  mark_bytes(*buffer, address, bytes, write);
}

Finding beyond_end(const DeviceMemory& memory, const char* operation, const TouchedRange& range) {
  const std::string what =
      access_text(access_verb(range.kind), range.end - range.begin, memory.describe(range.begin));
  return {.check = Check::kOutOfBounds,
          .what = fmt::format("{} {}, beyond its end", operation, what)};
}

}  // namespace

void AccessChecker::mark_written(const void* data, std::size_t bytes) {
  mark(buffers_, data, bytes, kHostWrite);
}

void AccessChecker::mark_unwritten(const void* data, std::size_t bytes) {
  mark(buffers_, data, bytes, {});
}

// A range that begins outside all buffers is host memory, or an allocation that holds many buffers.
std::optional<Finding> AccessChecker::touch_by_host(const char* operation,
                                                    const TouchedRange& range) {
  buffers_.refresh();
  const GlobalBuffer* first = buffers_.buffer_at(range.begin);
  if (first != nullptr && range.end > first->end) return beyond_end(memory_, operation, range);
  if (range.kind != AccessKind::kWrite) return std::nullopt;
  for (const auto& [begin, registered] : memory_.buffers()) {
    const std::uintptr_t from = std::max(begin, range.begin);
    const std::uintptr_t to = std::min(begin + registered.bytes, range.end);
    if (registered.use != BufferUse::kWriteFirst || from >= to) continue;
    mark_bytes(*buffers_.buffer_at(begin), from, to - from, kHostWrite);
  }
  return std::nullopt;
}

}  // namespace recto::simt
