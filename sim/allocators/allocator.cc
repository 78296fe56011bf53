#include "sim/allocators/allocator.h"

#include "core/contract.h"

namespace recto::sim {

bool Allocator::append_blocks(std::span<const SequenceId>) {
  RECTO_UNREACHABLE("only paged sequences grow by blocks");
}

void Allocator::begin_swap_out(std::span<const SequenceId>, TokenCount) {}

void Allocator::finish_restore(std::span<const SequenceId>, TokenCount) {}

}  // namespace recto::sim
