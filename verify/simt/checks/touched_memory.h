#pragma once

// Collects which bytes of memory a launch touches, and how. Takes one bit for each byte of a
// touched page and each kind of access to the page.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "verify/simt/executor/observer.h"

namespace recto::simt {

class TouchedMemory {
 public:
  // O(1 + bytes / 64).
  void note(std::uintptr_t address, std::size_t bytes, AccessKind kind) {
    for (const std::uintptr_t end = address + bytes; address < end;) {
      const auto first = static_cast<unsigned>(address % kWordBytes);
      const std::uintptr_t left = end - address;
      const std::uintptr_t count = left < kWordBytes - first ? left : kWordBytes - first;
      const std::uint64_t bits = ~std::uint64_t{0} >> (kWordBytes - count) << first;
      page_of(address, kind)[address % kPageBytes / kWordBytes] |= bits;
      address += count;
    }
  }

  // Returns the ranges noted since the last call, sorted by kind and address; ranges of one kind
  // neither overlap nor touch. O(n log n) in pages.
  std::vector<TouchedRange> take();

 private:
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kWordBytes = 64;  // of memory, for which one number holds the bits
  static constexpr std::size_t kSlots = 256;
  using Page = std::array<std::uint64_t, kPageBytes / kWordBytes>;
  struct Slot {
    std::uintptr_t key = UINTPTR_MAX;
    Page* page = nullptr;
  };

  // Sorts by kind, then by address.
  static std::uintptr_t key_of(std::uintptr_t address, AccessKind kind) {
    return static_cast<std::uintptr_t>(kind) << 62 | address / kPageBytes;
  }
  Page& page_of(std::uintptr_t address, AccessKind kind) {
    const std::uintptr_t key = key_of(address, kind);
    Slot& slot = recent_[(key ^ key >> 61) % kSlots];
    if (slot.key != key) [[unlikely]]
      find_page(key, slot);
    return *slot.page;
  }
  void find_page(std::uintptr_t key, Slot& slot);
  static void add_ranges(std::uintptr_t key, const Page& page, std::vector<TouchedRange>& ranges);

  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::array<Slot, kSlots> recent_ = {};
};

}  // namespace recto::simt
