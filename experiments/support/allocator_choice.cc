// The allocators, by the names that --allocator and --manager take.

#include <utility>

#include "core/contract.h"
#include "experiments/support/resolved_run.h"
#include "sim/allocators/contiguous_max.h"
#include "sim/allocators/contiguous_oracle.h"
#include "sim/allocators/contiguous_pow2.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/allocators/prefix_cached_allocator.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::experiments {
namespace {

using AllocatorResult = Result<std::unique_ptr<sim::Allocator>>;

AllocatorResult make_managed(const ResolvedRun& run) {
  const sim::SchedulerOptions& scheduler = run.options.scheduler;
  const bool is_caching = run.config.allocator == "prefix-cached";
  auto allocator = verify::ManagedAllocator::create(
      {.pool_slots = run.pool_slots,
       .block_size = TokenCount(run.config.block_size),
       .null_blocks = BlockCount(run.config.null_blocks),
       .caching = is_caching ? cache::PrefixCaching::kOn : cache::PrefixCaching::kOff,
       .host_pool = scheduler.host_pool,
       .watermark = scheduler.watermark,
       .max_sequences = scheduler.max_sequences,
       .max_length = scheduler.max_length,
       .max_width = run.decoding.width});
  RECTO_RETURN_IF_ERROR(allocator.status().in("--manager production"));
  return std::unique_ptr<sim::Allocator>(std::move(allocator).value());
}

std::unique_ptr<sim::Allocator> make_contiguous(const ResolvedRun& run) {
  const RunConfig& config = run.config;
  sim::ContiguousOptions contiguous{.pool_slots = run.pool_slots,
                                    .max_length = run.options.scheduler.max_length};
  if (config.placement == "first-fit") contiguous.placement = sim::PlacementKind::kFirstFit;
  if (config.placement == "best-fit") contiguous.placement = sim::PlacementKind::kBestFit;
  if (config.allocator == "contiguous-max") {
    return std::make_unique<sim::ContiguousMax>(contiguous);
  }
  if (config.allocator == "contiguous-pow2") {
    return std::make_unique<sim::ContiguousPow2>(contiguous);
  }
  RECTO_CHECK_EQ(config.allocator, "contiguous-oracle");
  return std::make_unique<sim::ContiguousOracle>(contiguous);
}

}  // namespace

AllocatorResult make_allocator(const ResolvedRun& run) {
  const RunConfig& config = run.config;
  if (is_contiguous(config)) return make_contiguous(run);
  if (config.manager == "production") return make_managed(run);
  const sim::PagedOptions paged{.pool_slots = run.pool_slots,
                                .block_size = TokenCount(config.block_size),
                                .null_blocks = BlockCount(config.null_blocks)};
  std::unique_ptr<sim::Allocator> allocator;
  if (config.allocator == "prefix-cached") {
    allocator = std::make_unique<sim::PrefixCachedAllocator>(paged);
  } else {
    RECTO_CHECK_EQ(config.allocator, "paged");
    allocator = std::make_unique<sim::PagedAllocator>(paged);
  }
  return allocator;
}

}  // namespace recto::experiments
