#include "sim/allocators/allocator.h"

#include "core/contract.h"

namespace recto::sim {

bool Allocator::append_blocks(std::span<const SequenceId>) {
  RECTO_UNREACHABLE("only paged sequences grow by blocks");
}

}  // namespace recto::sim
