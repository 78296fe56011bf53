#include "verify/simt/memory/device_memory.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace recto::simt {
namespace {

// Further away than this, an address has nothing to do with a buffer.
constexpr std::uintptr_t kNearBytes = std::uintptr_t{1} << 34;

std::uintptr_t begin_of(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data);
}

std::uintptr_t end_of(const Buffer& buffer) { return begin_of(buffer) + buffer.bytes; }

}  // namespace

Status DeviceMemory::add(Buffer buffer) {
  if (buffer.data == nullptr || buffer.bytes == 0) {
    return Status::invalid_input(fmt::format("buffer '{}': expected memory, got {} bytes at {}",
                                             buffer.name, buffer.bytes,
                                             static_cast<const void*>(buffer.data)));
  }
  const auto after = buffers_.upper_bound(begin_of(buffer));
  const Buffer* other = nullptr;
  if (after != buffers_.end() && after->first < end_of(buffer)) other = &after->second;
  if (after != buffers_.begin() && end_of(std::prev(after)->second) > begin_of(buffer)) {
    other = &std::prev(after)->second;
  }
  if (other != nullptr) {
    return Status::invalid_input(fmt::format(
        "buffer '{}': expected memory of its own, but it overlaps '{}'", buffer.name, other->name));
  }
  buffers_.emplace(begin_of(buffer), std::move(buffer));
  return Status::ok();
}

bool DeviceMemory::remove(const void* data) {
  return buffers_.erase(reinterpret_cast<std::uintptr_t>(data)) > 0;
}

const Buffer* DeviceMemory::find(std::uintptr_t address) const {
  const auto after = buffers_.upper_bound(address);
  if (after == buffers_.begin()) return nullptr;
  const Buffer& before = std::prev(after)->second;
  return address < end_of(before) ? &before : nullptr;
}

std::string DeviceMemory::describe(std::uintptr_t address) const {
  const auto after = buffers_.upper_bound(address);
  if (after != buffers_.begin()) {
    const Buffer& before = std::prev(after)->second;
    if (address < end_of(before)) {
      return fmt::format("{}+{}", before.name, address - begin_of(before));
    }
    if (address - end_of(before) < kNearBytes) {
      return fmt::format("{} bytes past the end of {} ({} bytes)", address - end_of(before),
                         before.name, before.bytes);
    }
  }
  if (after != buffers_.end() && after->first - address < kNearBytes) {
    return fmt::format("{} bytes before {} ({} bytes)", after->first - address, after->second.name,
                       after->second.bytes);
  }
  return fmt::format("{:#x}, which is no registered memory", address);
}

}  // namespace recto::simt
