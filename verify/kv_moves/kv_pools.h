#pragma once

// Pools of K and V that something is to be written into, and how they differ from what they should
// be: whole ones, gaps included.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/paged_kv_view.h"

namespace recto::verify {

struct KvPools {
  std::vector<std::byte> k;
  std::vector<std::byte> v;

  // With the shapes and strides of `kv`, which the pools were made of.
  MutablePagedKvView over(const PagedKvView& kv);
  std::int64_t num_codes(const PagedKvView& kv) const;
};

KvPools copied_pools(const PagedKvView& kv);
// With none of its codes, so that new ones are new.
KvPools other_pools(const PagedKvView& kv);

// `data` with the shape and strides of `cache`.
MutableKvTensorView view_over(const KvTensorView& cache, void* data);

// Where numbers are converted to fp8, which NaN one becomes is nobody's promise.
enum class NanCodes : std::uint8_t { kSame, kAnyOfFp8 };

// Before something was to be written, as they should be afterwards, and as they are.
struct WrittenPools {
  const KvPools& before;
  const KvPools& expected;
  const KvPools& seen;
};

// What is wrong in each pool, where first, and what is there instead; empty if all is right.
std::string pool_differences(const WrittenPools& pools, const PagedKvView& kv, NanCodes nans);

}  // namespace recto::verify
