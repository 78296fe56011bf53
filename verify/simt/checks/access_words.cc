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
