#pragma once

// The example as a backend under test.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "verify/backend.h"
#include "verify/kernels/device_call.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {

struct PackedDecodeHow {
  std::int64_t partition_size = 0;  // 0: one pass
  bool half_sums = false;           // the product with V in half precision
  ObserverMaker observer = {};      // empty: none
  // Called, unless empty, with the kernels' output `out`: [num_seqs, num_heads, head_dim] of q's
  // type.
  std::function<void(std::span<std::byte> out)> look = {};
};

// `executor` must outlive it.
Backend packed_decode_backend(simt::Executor& executor, const PackedDecodeHow& how);

}  // namespace recto::verify
