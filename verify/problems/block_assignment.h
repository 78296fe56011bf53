#pragma once

// Which physical blocks the sequences of a problem get, and what the block table says of them.

#include <cstdint>
#include <vector>

#include "verify/problems/attention_problem.h"
#include "verify/problems/placed_problem.h"

namespace recto::verify {

struct BlockAssignment {
  std::int64_t num_blocks = 0;                    // of the pool, at least one
  std::vector<std::vector<std::int32_t>> blocks;  // [num_seqs][blocks of that sequence]

  std::int64_t longest() const;  // blocks of the sequence that has most, at least one
};

// With shares_prefixes, a block that all its sequences see full, with bit-equal K and V in it and
// in all blocks before it, is one physical block.
BlockAssignment assign_blocks(const AttentionProblem& problem, const Placement& placement);

// [num_seqs, longest + table_padding]
std::vector<std::int32_t> fill_block_table(const BlockAssignment& assignment,
                                           const Placement& placement);

}  // namespace recto::verify
