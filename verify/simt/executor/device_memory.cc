#include "verify/simt/executor/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "verify/simt/executor/finding.h"

namespace recto::simt {
namespace {

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

std::string LogicalBounds::owners_text(std::size_t piece) const {
  constexpr std::size_t kNamedMax = 4;
  std::vector<std::size_t> owners;
  for (std::size_t owner = 0; owner < may_touch.size(); ++owner) {
    if (may_touch[owner][piece]) owners.push_back(owner);
  }
  if (owners.empty()) return "no owner";
  if (owners.size() == 1) return fmt::format("owner {}", owners.front());
  const std::size_t named = std::min(kNamedMax, owners.size() - 1);
  const std::span<const std::size_t> first(owners.data(), named);
  const std::string last = owners.size() - named == 1
                               ? fmt::format("{}", owners.back())
                               : fmt::format("{} others", owners.size() - named);
  return fmt::format("owners {} and {}", fmt::join(first, ", "), last);
}

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
  const auto named = [](const Buffer& buffer) {
    return NamedMemory{buffer.name, begin_of(buffer), buffer.bytes};
  };
  std::optional<NamedMemory> before;
  std::optional<NamedMemory> behind;
  const auto after = buffers_.upper_bound(address);
  if (after != buffers_.begin()) before = named(std::prev(after)->second);
  if (after != buffers_.end()) behind = named(after->second);
  const std::string text = address_text(address, before, behind);
  return text.empty() ? fmt::format("memory at {:#x}, not a registered buffer", address) : text;
}

}  // namespace recto::simt
