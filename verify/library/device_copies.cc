#include "verify/library/device_copies.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

std::vector<std::byte> guard() {
  return std::vector<std::byte>(static_cast<std::size_t>(DeviceCopies::kGuardBytes),
                                std::byte{0xff});
}

}  // namespace

DeviceCopies::DeviceCopies(KernelDevice& device, const GuardedArena& arena,
                           std::span<const OpenPages> pages)
    : device_(device), arena_(arena) {
  for (const OpenPages& open : pages) {
    Copy copy{.pages = open, .memory = device.allocate(open.end - open.begin + 2 * kGuardBytes)};
    are_there_ = copy.memory != nullptr;
    if (!are_there_) return;
    copies_.push_back(copy);
    fill(copy);
  }
}

DeviceCopies::~DeviceCopies() {
  for (const Copy& copy : copies_) device_.release(copy.memory);
}

void DeviceCopies::fill(const Copy& copy) {
  const std::vector<std::byte> ones = guard();
  std::byte* const first = copy.memory + kGuardBytes;
  device_.copy_in(copy.memory, ones.data(), kGuardBytes);
  device_.copy_in(first + (copy.pages.end - copy.pages.begin), ones.data(), kGuardBytes);
  for (const OpenPages& filled : arena_.filled(copy.pages)) {
    device_.copy_in(first + (filled.begin - copy.pages.begin), arena_.theirs() + filled.begin,
                    filled.end - filled.begin);
  }
}

std::byte* DeviceCopies::moved(const void* address) const {
  const std::int64_t offset = static_cast<const std::byte*>(address) - arena_.theirs();
  for (const Copy& copy : copies_) {
    // An address at the end belongs to an empty array.
    if (offset < copy.pages.begin || offset > copy.pages.end) continue;
    return copy.memory + kGuardBytes + (offset - copy.pages.begin);
  }
  RECTO_UNREACHABLE("an address that is in no buffer of the call");
}

std::optional<MemoryFault> DeviceCopies::take_back() {
  std::optional<std::int64_t> changed;
  for (const Copy& copy : copies_) {
    if (!changed) changed = changed_guard(copy);
    for (const OpenPages& filled : arena_.filled(copy.pages)) {
      if (copy.pages.access == BufferAccess::kWrite) {
        device_.copy_out(arena_.theirs() + filled.begin,
                         copy.memory + kGuardBytes + (filled.begin - copy.pages.begin),
                         filled.end - filled.begin);
      } else if (!changed) {
        changed = changed_byte(copy, filled.begin, filled.end);
      }
    }
  }
  if (!changed) return std::nullopt;
  return MemoryFault{.address = reinterpret_cast<std::uintptr_t>(arena_.theirs() + *changed),
                     .kind = MemoryFault::Kind::kWrite};
}

// Searches between two offsets in the arena.
std::optional<std::int64_t> DeviceCopies::changed_byte(const Copy& copy, std::int64_t first,
                                                       std::int64_t end) const {
  std::vector<std::byte> seen;
  for (std::int64_t at = first; at < end; at += kPieceBytes) {
    seen.resize(static_cast<std::size_t>(std::min(kPieceBytes, end - at)));
    device_.copy_out(seen.data(), copy.memory + kGuardBytes + (at - copy.pages.begin),
                     std::ssize(seen));
    const auto [different, same] =
        std::ranges::mismatch(seen, std::span(arena_.theirs() + at, seen.size()));
    static_cast<void>(same);
    if (different != seen.end()) return at + (different - seen.begin());
  }
  return std::nullopt;
}

// The changed byte nearest to the pages: before them if there is one, else after them.
std::optional<std::int64_t> DeviceCopies::changed_guard(const Copy& copy) const {
  std::vector<std::byte> seen = guard();
  const auto is_changed = [](std::byte byte) { return byte != std::byte{0xff}; };
  device_.copy_out(seen.data(), copy.memory, kGuardBytes);
  const auto before = std::ranges::find_if(seen.rbegin(), seen.rend(), is_changed);
  if (before != seen.rend()) return copy.pages.begin - 1 - (before - seen.rbegin());
  device_.copy_out(seen.data(), copy.memory + kGuardBytes + (copy.pages.end - copy.pages.begin),
                   kGuardBytes);
  const auto behind = std::ranges::find_if(seen, is_changed);
  if (behind != seen.end()) return copy.pages.end + (behind - seen.begin());
  return std::nullopt;
}

}  // namespace recto::verify
