#pragma once

// How instructions become steps, by family. What cannot be run fails.

#include "verify/ptx/program/decoding.h"

namespace recto::ptx {

// The steps of a function, in those of its caller.
void decode_function(Decoding& at, Frame& frame);

// decode_arithmetic.cc: what each lane computes by itself
void decode_lanes(Decoding& at);
void decode_carry(Decoding& at);
void decode_convert(Decoding& at);
void decode_move(Decoding& at);

// decode_comparisons.cc
void decode_compare(Decoding& at);
void decode_logic(Decoding& at);

// decode_addresses.cc
void decode_address_conversion(Decoding& at);
void decode_space_test(Decoding& at);
void decode_mapped_address(Decoding& at);
void decode_rank_of_address(Decoding& at);

// decode_memory.cc
void decode_load_or_store(Decoding& at);
void decode_atomic(Decoding& at);

// decode_copies.cc
void decode_copy(Decoding& at);

// decode_mbarriers.cc
void decode_mbarrier(Decoding& at);
void decode_copy_arrival(Decoding& at);

// decode_products.cc
void decode_matrix_move(Decoding& at);
void decode_matrix_product(Decoding& at);
void decode_warpgroup(Decoding& at);

// decode_control.cc
void decode_branch(Decoding& at);
void decode_call(Decoding& at);
void decode_exit(Decoding& at);
void decode_trap(Decoding& at);
void decode_launch_control(Decoding& at);
void decode_pause(Decoding& at);
void decode_cache_hint(Decoding& at);
void decode_policy(Decoding& at);
void decode_register_count(Decoding& at);

// decode_meetings.cc
void decode_barrier(Decoding& at);
void decode_fence(Decoding& at);
void decode_shuffle(Decoding& at);
void decode_vote(Decoding& at);
void decode_match(Decoding& at);
void decode_reduction(Decoding& at);
void decode_active_mask(Decoding& at);
void decode_election(Decoding& at);

}  // namespace recto::ptx
