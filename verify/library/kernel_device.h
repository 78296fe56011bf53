#pragma once

// A device whose memory a kernel library may request: CUDA's in programs that have it, a stand-in
// in tests.

#include <cstddef>
#include <cstdint>

namespace recto::verify {

// All calls are made in the library's process, after begin().
class KernelDevice {
 public:
  virtual ~KernelDevice() = default;

  // Makes the device current. Returns why it is unavailable, or null.
  virtual const char* begin() = 0;

  // Returns memory aligned to 256 bytes; null if there is no room, or for a reason that finish()
  // then returns.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* memory) = 0;

  virtual void copy_in(std::byte* device, const std::byte* host, std::int64_t bytes) = 0;
  virtual void copy_out(std::byte* host, const std::byte* device, std::int64_t bytes) = 0;

  // Waits for all pending work. Returns the error of that work or of an earlier call, or null.
  // After an error, the process can no longer use the device.
  virtual const char* finish() = 0;
};

// The device of this program; null if it has none.
KernelDevice* kernel_device();

}  // namespace recto::verify
