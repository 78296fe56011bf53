#include "verify/ptx/machine/device_memory.h"

#include <algorithm>
#include <utility>

namespace recto::ptx {
namespace {

bool begins_before(const Buffer& buffer, std::uintptr_t address) { return buffer.begin < address; }

// Farther away, a name misleads.
constexpr std::uintptr_t kNearBytes = std::uintptr_t{1} << 24;

}  // namespace

void DeviceMemory::add(Buffer buffer) {
  const auto at = std::lower_bound(buffers_.begin(), buffers_.end(), buffer.begin, begins_before);
  if (at != buffers_.end() && at->begin == buffer.begin) {
    *at = std::move(buffer);
  } else {
    buffers_.insert(at, std::move(buffer));
  }
}

void DeviceMemory::add(std::string name, const void* data, std::size_t bytes, BufferAccess access) {
  add({.name = std::move(name),
       .begin = reinterpret_cast<std::uintptr_t>(data),
       .bytes = bytes,
       .access = access});
}

void DeviceMemory::remove(const void* data) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const auto at = std::lower_bound(buffers_.begin(), buffers_.end(), begin, begins_before);
  if (at != buffers_.end() && at->begin == begin) buffers_.erase(at);
}

const Buffer* DeviceMemory::find(std::uintptr_t address) const {
  auto after = std::lower_bound(buffers_.begin(), buffers_.end(), address + 1, begins_before);
  if (after == buffers_.begin()) return nullptr;
  --after;
  return address < after->end() ? &*after : nullptr;
}

std::string DeviceMemory::text_of(std::uintptr_t address) const {
  if (address == 0) return "null";
  const Buffer* const buffer = find(address);
  if (buffer != nullptr) return buffer->name + "+" + std::to_string(address - buffer->begin);
  const auto after = std::lower_bound(buffers_.begin(), buffers_.end(), address, begins_before);
  const Buffer* const before = after == buffers_.begin() ? nullptr : &*(after - 1);
  const std::uintptr_t past =
      before != nullptr ? address - before->end() : std::uintptr_t{UINTPTR_MAX};
  const std::uintptr_t ahead =
      after != buffers_.end() ? after->begin - address : std::uintptr_t{UINTPTR_MAX};
  const Buffer* const nearest = past <= ahead ? before : &*after;
  if (nearest == nullptr || std::min(past, ahead) > kNearBytes) {
    return "address " + std::to_string(address) + ", far from every buffer";
  }
  const bool is_past = past <= ahead;
  return "memory " + std::to_string(is_past ? past : ahead) + " bytes " +
         (is_past ? "past the end of " : "before ") + nearest->name + " (" +
         std::to_string(nearest->bytes) + " bytes)";
}

}  // namespace recto::ptx
