#pragma once

// Which physical blocks the sequences of a problem get, and the block table that describes them.

#include <cstdint>
#include <vector>

#include "core/batch.h"
#include "verify/cases/attention_problem.h"
#include "verify/cases/placed_problem.h"

namespace recto::verify {

struct BlockAssignment {
  std::int64_t num_blocks = 0;                    // of the pool, at least one
  std::vector<std::vector<std::int32_t>> blocks;  // [num_seqs][blocks of the sequence]

  std::int64_t longest() const;  // most blocks of any sequence, at least one
};

// With shares_prefixes, sequences share one physical block if it is full for each of them and K and
// V are bit-equal in it and in all blocks before it.
BlockAssignment assign_blocks(const AttentionProblem& problem, const Placement& placement);

// Fills the entries of the block table beyond each sequence's blocks.
void fill_beyond_blocks(const BlockAssignment& assignment, const Placement& placement,
                        BatchLists& lists);

}  // namespace recto::verify
