#pragma once

// Shared memory of one thread block: room for the dynamic part, then the variables in the order of
// their first use, with gaps between them that must not be touched. Initially all bits are one,
// which is NaN in every floating-point type.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "verify/simt/executor/kernel_thread.h"

namespace recto::simt {

// A __shared__ variable in the source. There is one object of it per variable, in static memory.
struct SharedVariable {
  const char* name = "";
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  Site site = {};
};

class SharedMemory {
 public:
  // The maximum for one thread block on sm_90, both parts together.
  static constexpr std::size_t kBytesMax = 227 << 10;
  static constexpr std::size_t kStaticBytesMax = 48 << 10;
  static constexpr std::size_t kGapBytes = 64;
  // The largest alignment of the dynamic part that kernels declare.
  static constexpr std::size_t kDynamicAlignmentMax = 1024;

  struct Placed {
    const SharedVariable* variable = nullptr;  // null: the dynamic part
    std::size_t offset = 0;
    std::size_t bytes = 0;

    std::string name() const {
      return variable == nullptr ? "dynamic shared memory" : variable->name;
    }
  };

  // Starts over for the next thread block.
  void begin(std::size_t dynamic_bytes);

  std::size_t dynamic_bytes() const { return dynamic_bytes_; }
  // The dynamic part, at a multiple of `alignment`, a power of two, but of no larger power, so that
  // code that needs more is found. Null if it was handed out with a smaller alignment before.
  std::byte* dynamic(std::size_t alignment);
  // Null if it does not fit.
  std::byte* variable(const SharedVariable& variable);

  // All memory that may be handed out, gaps included.
  std::span<std::byte> memory() const { return {memory_.get(), kMemoryBytes}; }
  // The part that contains this offset or, for an offset in a gap, the part before it; null if
  // there is none.
  const Placed* placed_at(std::size_t offset) const {
    for (std::size_t i = placed_.size(); i > 0; --i) {
      if (placed_[i - 1].offset <= offset) return &placed_[i - 1];
    }
    return nullptr;
  }
  // Describes an address in the memory: "shared tile+16", "memory 4 bytes past the end of shared
  // tile (256 bytes)".
  std::string describe(std::uintptr_t address) const;

 private:
  // Room for gaps beside kBytesMax.
  static constexpr std::size_t kMemoryBytes = 256 << 10;
  struct Unmap {
    void operator()(std::byte* memory) const;
  };

  std::byte* hand_out(std::size_t offset, std::size_t bytes);

  std::unique_ptr<std::byte, Unmap> memory_;
  std::size_t dynamic_bytes_ = 0;
  std::byte* dynamic_ = nullptr;  // once it is handed out
  std::size_t end_ = 0;           // end of the parts handed out, with the last gap
  std::size_t static_bytes_ = 0;  // without gaps
  std::vector<Placed> placed_;    // sorted by offset
};

}  // namespace recto::simt
