#include "verify/simt/checks/access_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace recto::simt {
namespace {

std::string name_of(const SharedMemory::Placed& placed) {
  return placed.variable == nullptr ? "dynamic shared memory"
                                    : fmt::format("shared {}", placed.variable->name);
}

}  // namespace

std::string access_text(const AccessShape& shape, const std::string& place) {
  return fmt::format("{} {} byte{} of {}", access_verb(shape.kind), shape.bytes,
                     shape.bytes == 1 ? "" : "s", place);
}

std::string owners_text(const LogicalBounds& bounds, std::size_t piece) {
  constexpr std::size_t kNamedMax = 4;
  std::vector<std::size_t> owners;
  for (std::size_t owner = 0; owner < bounds.may_touch.size(); ++owner) {
    if (bounds.may_touch[owner][piece]) owners.push_back(owner);
  }
  if (owners.empty()) return "nobody's";
  if (owners.size() == 1) return fmt::format("owner {}'s", owners.front());
  const std::size_t named = std::min(kNamedMax, owners.size() - 1);
  const std::span<const std::size_t> first(owners.data(), named);
  const std::string last = owners.size() - named == 1
                               ? fmt::format("{}", owners.back())
                               : fmt::format("{} others", owners.size() - named);
  return fmt::format("for owners {} and {}", fmt::join(first, ", "), last);
}

std::string shared_text(const SharedMemory& memory, std::uintptr_t address) {
  const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(memory.memory().data());
  const SharedMemory::Placed* before = nullptr;
  const SharedMemory::Placed* behind = nullptr;
  for (const SharedMemory::Placed& placed : memory.placed()) {
    if (placed.offset <= offset) before = &placed;
    if (placed.offset > offset && behind == nullptr) behind = &placed;
  }
  if (before != nullptr && offset < before->offset + before->bytes) {
    return fmt::format("{}+{}", name_of(*before), offset - before->offset);
  }
  // The nearer one was meant.
  if (behind != nullptr &&
      (before == nullptr || behind->offset - offset < offset - before->offset - before->bytes)) {
    return fmt::format("memory {} bytes before {} ({} bytes)", behind->offset - offset,
                       name_of(*behind), behind->bytes);
  }
  if (before == nullptr) return "shared memory that belongs to no variable";
  return fmt::format("memory {} bytes past the end of {} ({} bytes)",
                     offset - before->offset - before->bytes, name_of(*before), before->bytes);
}

}  // namespace recto::simt
