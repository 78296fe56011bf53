#include "verify/simt/checks/access_words.h"

#include <fmt/format.h>

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

std::string shared_text(const SharedMemory& memory, std::uintptr_t address) {
  const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(memory.memory().data());
  const SharedMemory::Placed* before = nullptr;
  for (const SharedMemory::Placed& placed : memory.placed()) {
    if (placed.offset <= offset) before = &placed;
  }
  if (before == nullptr) return "shared memory that belongs to no variable";
  if (offset < before->offset + before->bytes) {
    return fmt::format("{}+{}", name_of(*before), offset - before->offset);
  }
  return fmt::format("memory {} bytes past the end of {} ({} bytes)",
                     offset - before->offset - before->bytes, name_of(*before), before->bytes);
}

}  // namespace recto::simt
