#pragma once

// Calls of the kernels that look at tables, lengths, slots and pairs where they are, on the
// executor.

#include <array>
#include <cstdint>

#include "core/attention_views.h"
#include "cuda/kernels/contents_check.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// Everything but where the answer goes; limits are what these inputs come to.
kernels::ContentsCheckParams contents_params(const PagedAttentionInputs& inputs);

// What the kernel finds; params.violation is not looked at. Of the block table it may read
// [num_seqs, max_blocks], and nothing between rows.
kernels::ContentsViolation call_contents_check(simt::Executor& executor,
                                               const ObserverMaker& observer,
                                               const kernels::ContentsCheckParams& params);

// The same of slots, and of pairs of blocks.
kernels::ContentsViolation call_slot_check(simt::Executor& executor, const ObserverMaker& observer,
                                           const kernels::SlotCheckParams& params);
kernels::ContentsViolation call_pair_check(simt::Executor& executor, const ObserverMaker& observer,
                                           const kernels::PairCheckParams& params);

// Rule, index, other, value and limit.
std::array<std::int64_t, 5> fields_of(const kernels::ContentsViolation& violation);

}  // namespace recto::verify
