#pragma once

// Copies of a call's buffers on a device during the call; used in the library's process.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/library/guarded_arena.h"
#include "verify/library/kernel_device.h"

namespace recto::verify {

class DeviceCopies {
 public:
  // The pages must be open now and at each later copy. All pages are copied to the device, with
  // guard bytes of all ones before and after. Of a sparse buffer, only the written parts are
  // copied.
  DeviceCopies(KernelDevice& device, const GuardedArena& arena, std::span<const OpenPages> pages);
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;
  ~DeviceCopies();

  // Whether the device had room for all of them.
  bool are_there() const { return are_there_; }

  // The device address of an address within these pages.
  std::byte* moved(const void* address) const;

  // Copies back the buffers that may be written. If a byte has changed that must not be written,
  // returns that as an access to the arena; else nullopt.
  std::optional<MemoryFault> take_back();

  static constexpr std::int64_t kGuardBytes = 4096;

 private:
  struct Copy {
    OpenPages pages;
    std::byte* memory = nullptr;  // guard, pages, guard
  };

  void fill(const Copy& copy);
  std::optional<std::int64_t> changed_byte(const Copy& copy, std::int64_t first,
                                           std::int64_t end) const;
  std::optional<std::int64_t> changed_guard(const Copy& copy) const;

  KernelDevice& device_;
  const GuardedArena& arena_;
  std::vector<Copy> copies_;
  bool are_there_ = true;
};

}  // namespace recto::verify
