#pragma once

// The example as an implementation under test.

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
  ObserverMaker observer = {};      // none, if empty
  // Called with `out`, [num_seqs, num_heads, head_dim] of q's type, as the kernels have left it,
  // unless empty.
  std::function<void(std::span<std::byte> out)> look = {};
};

// `executor` must outlive it.
Backend packed_decode_backend(simt::Executor& executor, const PackedDecodeHow& how);

}  // namespace recto::verify
