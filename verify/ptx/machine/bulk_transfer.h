#pragma once

// What a bulk copy moves between shared memory and other memory: bytes, or a box of a tensor.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "verify/ptx/arithmetic/tensor_map.h"

namespace recto::ptx {

struct TensorBox {
  TensorMap map;
  std::array<std::int32_t, kTensorRankMax> coordinates = {};
};

struct BulkTransfer {
  std::byte* shared = nullptr;  // shared memory of a thread block
  std::uint32_t offset = 0;     // where the copy begins in it
  std::byte* other = nullptr;   // the other side, unless that is a box
  std::uint32_t bytes = 0;
  std::optional<TensorBox> box = {};
  bool is_to_shared = true;
};

// Copies. O(bytes).
void run(const BulkTransfer& transfer);

}  // namespace recto::ptx
