#pragma once

// The laws, each in a file of its name. README.md states each law with precondition and comparison.

#include <vector>

#include "verify/law.h"

namespace recto::verify {

Law ones_give_one_law();
Law convex_hull_law();
Law key_permutation_law();
Law logit_shift_law();
Law key_duplication_law();
Law alibi_as_scores_law();
Law merge_identity_law();
Law merge_commutativity_law();
Law merge_associativity_law();
Law physical_placement_law();
Law block_size_law();
Law split_size_law();
Law cache_layout_law();
Law chunking_law();
Law unaddressed_slots_law();
Law masked_keys_law();
Law repeated_kv_heads_law();
Law wide_window_law();
Law huge_softcap_law();
Law zero_context_law();
Law batch_independence_law();
Law repetition_law();
Law history_law();
Law relocation_law();

// All laws, in this order.
const std::vector<Law>& all_laws();

}  // namespace recto::verify
