#pragma once

// A device whose memory a kernel library may ask for: CUDA's in a program that has it, a stand-in
// in tests.

#include <cstddef>
#include <cstdint>

namespace recto::verify {

// All calls are made in the library's process, after begin().
class KernelDevice {
 public:
  virtual ~KernelDevice() = default;

  // Makes it current. Why it is not there, or null.
  virtual const char* begin() = 0;

  // At a multiple of 256 bytes; null if there is no room, or for what finish() says then.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* memory) = 0;

  virtual void copy_in(std::byte* device, const std::byte* host, std::int64_t bytes) = 0;
  virtual void copy_out(std::byte* host, const std::byte* device, std::int64_t bytes) = 0;

  // Waits for all that is under way. What went wrong in it, or in a call before, or null; the
  // process has no use for the device after that.
  virtual const char* finish() = 0;
};

// Of this program; null if it has none.
KernelDevice* kernel_device();

}  // namespace recto::verify
