#pragma once

// Pools of K and V to be written, and how whole pools, gaps included, differ from the expected
// ones.

#include <cstdint>
#include <string>

#include "core/batch.h"

namespace recto::verify {

// Pools in which every code differs from kv's, so that new codes are recognisable.
KvPools other_pools(const PagedKvView& kv);

// In both pools, which have the shape and strides of `kv`.
std::int64_t num_codes(const KvPools& pools, const PagedKvView& kv);

// Whether NaN codes must match. Which NaN a conversion to fp8 gives is unspecified.
enum class NanCodes : std::uint8_t { kSame, kAnyOfFp8 };

bool are_same_codes(const KvPools& a, const KvPools& b, const PagedKvView& kv, NanCodes nans);

// The pools before the write, the expected pools, and the observed ones.
struct WrittenPools {
  const KvPools& before;
  const KvPools& expected;
  const KvPools& seen;
};

// Per pool: how many codes are wrong, the first one, and what is there instead; empty if none.
std::string pool_differences(const WrittenPools& pools, const PagedKvView& kv, NanCodes nans);

}  // namespace recto::verify
