#pragma once

// The buffers that kernels may touch, with their bounds and names. Addresses are the host's.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "verify/simt/executor/device_memory.h"

namespace recto::ptx {

enum class BufferAccess : std::uint8_t {
  kReadWrite,
  kReadOnly,
  kWriteFirst,  // holds nothing: reads before a write are findings
};

struct Buffer {
  std::string name;
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  BufferAccess access = BufferAccess::kReadWrite;
  // The pieces that each thread block may touch; null: all.
  std::shared_ptr<const simt::LogicalBounds> logical_bounds = {};
  // Thread blocks communicate through it in ways that the checks do not follow: no races are
  // reported, nor reads of unwritten memory.
  bool blocks_communicate = false;

  std::uintptr_t end() const { return begin + bytes; }
};

class DeviceMemory {
 public:
  // Buffers must not overlap; one at the address of an earlier one replaces it.
  void add(Buffer buffer);
  // For arrays: memory.add("keys", keys.data(), keys.size() * sizeof(float)).
  void add(std::string name, const void* data, std::size_t bytes,
           BufferAccess access = BufferAccess::kReadWrite);
  void remove(const void* data);

  const std::vector<Buffer>& buffers() const { return buffers_; }  // by address
  // The buffer with this address, or null. O(log buffers).
  const Buffer* find(std::uintptr_t address) const;
  // "keys+64", or "4 bytes past the end of keys (1280 bytes)"; or how far away the nearest is.
  std::string text_of(std::uintptr_t address) const;

 private:
  std::vector<Buffer> buffers_;
};

}  // namespace recto::ptx
