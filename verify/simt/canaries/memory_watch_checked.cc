// For observed accesses: registers each buffer with its bounds and use.

#include <cstdint>

#include "verify/simt/canaries/memory_watch.h"
#include "verify/simt/checks/access_checker.h"

namespace recto::simt {

struct MemoryWatch::Watcher {
  DeviceMemory memory;
  AccessChecker checker{memory, {.accesses_max = 1000000}};
};

MemoryWatch::MemoryWatch(Executor& executor) : watcher_(new Watcher) {
  executor.set_observer(&watcher_->checker);
}

MemoryWatch::~MemoryWatch() { delete watcher_; }

void MemoryWatch::add(Buffer buffer) {
  RECTO_CHECK_EQ(watcher_->memory.add(std::move(buffer)), Status::ok());
}

const DeviceMemory* MemoryWatch::memory() const { return &watcher_->memory; }

void MemoryWatch::divide(const void* data, std::size_t piece_bytes, unsigned owners) {
  const Buffer* buffer = watcher_->memory.find(reinterpret_cast<std::uintptr_t>(data));
  LogicalBounds bounds;
  bounds.piece_bytes = piece_bytes;
  bounds.may_touch.assign(owners, std::vector<bool>(buffer->bytes / piece_bytes));
  for (std::size_t piece = 0; piece < buffer->bytes / piece_bytes; ++piece) {
    bounds.may_touch[piece % owners][piece] = true;
  }
  for (std::uint32_t owner = 0; owner < owners; ++owner) bounds.owner_of_block.push_back(owner);
  RECTO_CHECK_EQ(watcher_->memory.set_logical_bounds(data, std::move(bounds)), Status::ok());
}

void MemoryWatch::taint(void*, std::size_t) {}
std::optional<std::size_t> MemoryWatch::first_tainted(const void*, std::size_t) const {
  return std::nullopt;
}
bool MemoryWatch::observes_accesses() { return true; }

}  // namespace recto::simt
