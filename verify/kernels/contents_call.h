#pragma once

// Calls, on the executor, the kernels that check block tables, lengths, slots and pairs in place.

#include <array>
#include <cstdint>

#include "core/attention_views.h"
#include "cuda/kernels/contents_check.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// All parameters except the result's address, with the limits that these inputs imply.
kernels::ContentsCheckParams contents_params(const PagedAttentionInputs& inputs);

// Returns what the kernel finds; ignores params.violation. The kernel may read [num_seqs,
// max_blocks] of the block table, and nothing between rows.
kernels::ContentsViolation call_contents_check(simt::Executor& executor,
                                               const ObserverMaker& observer,
                                               const kernels::ContentsCheckParams& params);

// As call_contents_check(), for slots and for pairs of blocks.
kernels::ContentsViolation call_slot_check(simt::Executor& executor, const ObserverMaker& observer,
                                           const kernels::SlotCheckParams& params);
kernels::ContentsViolation call_pair_check(simt::Executor& executor, const ObserverMaker& observer,
                                           const kernels::PairCheckParams& params);

// Rule, index, other, value and limit.
std::array<std::int64_t, 5> fields_of(const kernels::ContentsViolation& violation);

}  // namespace recto::verify
