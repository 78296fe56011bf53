#include "sim/allocators/allocator.h"

#include "core/contract.h"

namespace recto::sim {

bool Allocator::append_blocks(std::span<const SequenceId>) {
  RECTO_UNREACHABLE("only paged sequences grow by blocks");
}

void Allocator::begin_swap_out(std::span<const SequenceId>, TokenCount) {}

void Allocator::finish_restore(std::span<const SequenceId>, TokenCount) {}

std::span<const BlockId> Allocator::block_table(SequenceId) const { return {}; }

Region Allocator::region(SequenceId) const { return {}; }

std::int32_t Allocator::sharers(BlockId) const { return 0; }

bool Allocator::is_cached(BlockId) const { return false; }

bool Allocator::is_evictable(BlockId) const { return false; }

}  // namespace recto::sim
