#include "sim/testing/pool_spec.h"

#include <algorithm>

#include "core/contract.h"
#include "sim/allocators/contiguous_allocator.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/allocators/prefix_cached_allocator.h"

namespace recto::sim {

std::unique_ptr<Allocator> make_allocator(const PoolSpec& pool) {
  const auto contiguous = [&pool](ReservationRule rule) {
    return std::make_unique<ContiguousAllocator>(
        ContiguousOptions{pool.slots, rule, pool.placement, pool.max_length});
  };
  const PagedOptions paged{pool.slots, pool.block_size, pool.null_blocks};
  switch (pool.kind) {
    case AllocatorKind::kContiguousMax:
      return contiguous(ReservationRule::kMax);
    case AllocatorKind::kContiguousPow2:
      return contiguous(ReservationRule::kPow2);
    case AllocatorKind::kContiguousOracle:
      return contiguous(ReservationRule::kOracle);
    case AllocatorKind::kPaged:
      return std::make_unique<PagedAllocator>(paged);
    case AllocatorKind::kPrefixCached:
      return std::make_unique<PrefixCachedAllocator>(paged);
  }
  RECTO_UNREACHABLE("every allocator is named above");
}

std::int64_t requested_slots(const PoolSpec& pool, const Request& request) {
  const std::int64_t prompt = request.prompt_tokens.value();
  const std::int64_t output = request.output_tokens.value();
  std::int64_t power = 1;
  switch (pool.kind) {
    case AllocatorKind::kContiguousMax:
      return pool.max_length.value();
    case AllocatorKind::kContiguousPow2:
      while (power < output) power *= 2;
      return std::min(prompt + power, pool.max_length.value());
    case AllocatorKind::kContiguousOracle:
      return prompt + output - 1;
    case AllocatorKind::kPaged:
    case AllocatorKind::kPrefixCached:
      break;
  }
  RECTO_UNREACHABLE("blocks are not reserved");
}

}  // namespace recto::sim
