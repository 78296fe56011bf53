#include "verify/simt/executor/device_memory.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace recto::simt {
namespace {

// Farther away than this, an address has nothing to do with a buffer.
constexpr std::uintptr_t kNearBytes = std::uintptr_t{1} << 34;

std::uintptr_t begin_of(const Buffer& buffer) {
  return reinterpret_cast<std::uintptr_t>(buffer.data);
}

std::uintptr_t end_of(const Buffer& buffer) { return begin_of(buffer) + buffer.bytes; }

Status check_bounds(const Buffer& buffer, const LogicalBounds& bounds) {
  if (bounds.piece_bytes == 0) {
    return Status::invalid_input(
        fmt::format("buffer '{}': logical_bounds.piece_bytes: expected more than 0", buffer.name));
  }
  const std::size_t pieces = (buffer.bytes + bounds.piece_bytes - 1) / bounds.piece_bytes;
  for (std::size_t owner = 0; owner < bounds.may_touch.size(); ++owner) {
    if (bounds.may_touch[owner].size() == pieces) continue;
    return Status::invalid_input(
        fmt::format("buffer '{}': logical_bounds.may_touch[{}]: expected {} pieces, got {}",
                    buffer.name, owner, pieces, bounds.may_touch[owner].size()));
  }
  for (std::size_t block = 0; block < bounds.owner_of_block.size(); ++block) {
    if (bounds.owner_of_block[block] < bounds.may_touch.size()) continue;
    return Status::invalid_input(fmt::format(
        "buffer '{}': logical_bounds.owner_of_block[{}]: expected an owner below {}, got {}",
        buffer.name, block, bounds.may_touch.size(), bounds.owner_of_block[block]));
  }
  return Status::ok();
}

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
  if (buffer.logical_bounds) {
    RECTO_RETURN_IF_ERROR(check_bounds(buffer, *buffer.logical_bounds));
  }
  buffer.serial = next_serial_++;
  buffers_.emplace(begin_of(buffer), std::move(buffer));
  return Status::ok();
}

Status DeviceMemory::set_logical_bounds(const void* data, std::optional<LogicalBounds> bounds) {
  const auto found = buffers_.find(reinterpret_cast<std::uintptr_t>(data));
  if (found == buffers_.end()) {
    return Status::invalid_input(
        fmt::format("logical bounds: expected the begin of a buffer, got {}", data));
  }
  if (bounds) RECTO_RETURN_IF_ERROR(check_bounds(found->second, *bounds));
  found->second.logical_bounds = std::move(bounds);
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
  const Buffer* inside = find(address);
  if (inside != nullptr) return fmt::format("{}+{}", inside->name, address - begin_of(*inside));
  const auto after = buffers_.upper_bound(address);
  const Buffer* behind = after == buffers_.end() ? nullptr : &after->second;
  const Buffer* before = after == buffers_.begin() ? nullptr : &std::prev(after)->second;
  const std::uintptr_t to_behind = behind == nullptr ? kNearBytes : begin_of(*behind) - address;
  const std::uintptr_t past_before = before == nullptr ? kNearBytes : address - end_of(*before);
  // The nearer one was meant.
  if (past_before < kNearBytes && past_before <= to_behind) {
    return fmt::format("memory {} bytes past the end of {} ({} bytes)", past_before, before->name,
                       before->bytes);
  }
  if (to_behind < kNearBytes) {
    return fmt::format("memory {} bytes before {} ({} bytes)", to_behind, behind->name,
                       behind->bytes);
  }
  return fmt::format("memory at {:#x}, which is no registered buffer", address);
}

}  // namespace recto::simt
