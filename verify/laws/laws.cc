#include "verify/laws/laws.h"

namespace recto::verify {

const std::vector<Law>& all_laws() {
  static const std::vector<Law> kLaws = {ones_give_one_law(),
                                         convex_hull_law(),
                                         key_permutation_law(),
                                         logit_shift_law(),
                                         key_duplication_law(),
                                         alibi_as_scores_law(),
                                         merge_identity_law(),
                                         merge_commutativity_law(),
                                         merge_associativity_law(),
                                         physical_placement_law(),
                                         block_size_law(),
                                         split_size_law(),
                                         cache_layout_law(),
                                         chunking_law(),
                                         unaddressed_slots_law(),
                                         masked_keys_law(),
                                         repeated_kv_heads_law(),
                                         wide_window_law(),
                                         huge_softcap_law(),
                                         zero_context_law(),
                                         batch_independence_law(),
                                         repetition_law(),
                                         history_law(),
                                         relocation_law()};
  return kLaws;
}

}  // namespace recto::verify
