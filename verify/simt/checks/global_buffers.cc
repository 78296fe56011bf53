#include "verify/simt/checks/global_buffers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/contract.h"

namespace recto::simt {

void GlobalBuffers::refresh() {
  std::map<std::uint64_t, std::unique_ptr<GlobalBuffer>> kept;
  by_address_.clear();
  has_logical_bounds_ = false;
  for (const auto& [begin, buffer] : memory_.buffers()) {
    std::unique_ptr<GlobalBuffer>& known = by_serial_[buffer.serial];
    if (known == nullptr) known = std::make_unique<GlobalBuffer>();
    known->buffer = &buffer;
    known->begin = begin;
    known->end = begin + buffer.bytes;
    known->use = buffer.use;
    has_logical_bounds_ = has_logical_bounds_ || buffer.logical_bounds.has_value();
    by_address_.push_back(known.get());
    kept.emplace(buffer.serial, std::move(known));
  }
  by_serial_ = std::move(kept);
  last_ = {};
  recent_ = {};
}

void GlobalBuffers::set_thread_block(std::uint64_t index) {
  if (has_logical_bounds_ && index != thread_block_) {
    last_ = {};
    recent_ = {};
  }
  thread_block_ = index;
}

void GlobalBuffers::forget_accesses() {
  for (auto& [serial, buffer] : by_serial_) {
    buffer->cells.clear();
    buffer->is_forgotten = true;
  }
}

void GlobalBuffers::mark(const void* data, std::size_t bytes, Stamp write) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  GlobalBuffer* buffer = buffer_at(address);
  RECTO_CHECK(buffer != nullptr && bytes <= buffer->end - address);
  if (!buffer->has_cells()) return;
  buffer->cells.for_each(address - buffer->begin, bytes,
                         [write](AccessRecord& record, std::size_t, std::size_t) {
                           const Division division = record.division;
                           record = {.write = write, .division = division};
                         });
}

GlobalBuffer* GlobalBuffers::buffer_at(std::uintptr_t address) {
  const auto after = std::ranges::upper_bound(by_address_, address, {}, &GlobalBuffer::begin);
  if (after == by_address_.begin()) return nullptr;
  GlobalBuffer* before = *std::prev(after);
  return address < before->end ? before : nullptr;
}

const GlobalBuffers::Range* GlobalBuffers::find_anew(std::uintptr_t address, std::size_t bytes) {
  GlobalBuffer* buffer = buffer_at(address);
  if (buffer == nullptr) return nullptr;
  Range range = {buffer->begin, buffer->end, buffer};
  if (const auto& bounds = buffer->buffer->logical_bounds) {
    const std::size_t piece = (address - buffer->begin) / bounds->piece_bytes;
    if (!bounds->allows(thread_block_, piece)) return nullptr;
    range.begin += piece * bounds->piece_bytes;
    range.end = std::min(range.end, range.begin + bounds->piece_bytes);
  }
  if (!range.contains(address, bytes)) return nullptr;
  recent_[slot_of(address)] = range;
  last_ = range;
  return &last_;
}

}  // namespace recto::simt
