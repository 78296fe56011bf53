#pragma once

// A device for tests without a GPU. Its memory is in the same process, but separate from the host's
// buffers. While a library is called, the host's copies are inaccessible, so that using an address
// that was not moved is a fault.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>

#include "verify/library/kernel_device.h"

namespace recto::verify::testing {

class StandInDevice final : public KernelDevice {
 public:
  const char* begin() override { return why_not_there; }

  std::byte* allocate(std::int64_t bytes) override {
    if (bytes > room_bytes) return nullptr;
    void* const memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    sizes_[static_cast<std::byte*>(memory)] = bytes;
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) override {
    munmap(memory, static_cast<std::size_t>(sizes_.at(memory)));
    sizes_.erase(memory);
  }

  void copy_in(std::byte* device, const std::byte* host, std::int64_t bytes) override {
    copy(device, host, device, bytes);
  }
  void copy_out(std::byte* host, const std::byte* device, std::int64_t bytes) override {
    copy(host, device, device, bytes);
  }

  const char* finish() override { return has_strayed_ ? "a copy from nowhere" : failure; }

  const char* why_not_there = nullptr;
  const char* failure = nullptr;                     // of the work on the device
  std::int64_t room_bytes = std::int64_t{64} << 30;  // per buffer

 private:
  // Only memory that was allocated counts as device memory.
  void copy(std::byte* to, const std::byte* from, const std::byte* on_device, std::int64_t bytes) {
    const auto behind = sizes_.upper_bound(const_cast<std::byte*>(on_device));
    const bool is_inside =
        behind != sizes_.begin() &&
        on_device + bytes <= std::prev(behind)->first + std::prev(behind)->second;
    if (!is_inside) has_strayed_ = true;
    if (is_inside) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  std::map<std::byte*, std::int64_t> sizes_;
  bool has_strayed_ = false;
};

}  // namespace recto::verify::testing
