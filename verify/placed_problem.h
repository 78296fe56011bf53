#pragma once

// An attention problem laid out in memory: pools in one of the layouts, block tables, lengths, and
// whatever stands in the slots that nobody addresses.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/attention_views.h"
#include "verify/attention_problem.h"

namespace recto::verify {

// What the slots hold that no sequence addresses, and, on request, only in K or only in V.
enum class Poison { kZero, kNaN, kInfinity, kTenThousand, kGarbage };
enum class PoisonedTensors { kBoth, kKeysOnly, kValuesOnly };

// Which physical blocks a sequence gets.
enum class BlockOrder { kAscending, kDescending, kShuffled, kHighIds };

struct Placement {
  KvLayout layout = KvLayout::kTokenMajor;
  std::int64_t block_size = 16;
  BlockOrder order = BlockOrder::kShuffled;
  std::int64_t spare_blocks = 2;  // blocks of the pool that nobody holds
  // More elements between neighbours than needed, filled with poison: multiples of 16.
  std::int64_t block_padding = 0;
  std::int64_t row_padding = 0;      // of query and output rows
  std::int64_t table_padding = 0;    // columns of the block table beyond the longest sequence's
  bool garbage_beyond_table = true;  // else 0; ids out of range and of other sequences
  bool shares_prefixes = false;      // equal leading blocks of sequences are one physical block
  Poison poison = Poison::kNaN;
  PoisonedTensors poisoned = PoisonedTensors::kBoth;
  std::uint64_t seed = 0;  // of shuffling and garbage

  friend bool operator==(const Placement&, const Placement&) = default;
};

// Owns the memory; inputs() points into it. Same problem, placement: same bytes.
class PlacedProblem {
 public:
  PlacedProblem(const AttentionProblem& problem, const Placement& placement);
  // inputs() would point into the other's memory.
  PlacedProblem(const PlacedProblem&) = delete;
  PlacedProblem& operator=(const PlacedProblem&) = delete;
  PlacedProblem(PlacedProblem&&) = default;

  const PagedAttentionInputs& inputs() const { return inputs_; }

 private:
  AttentionProblem problem_;
  std::vector<std::byte> q_;
  std::vector<std::byte> k_pool_;
  std::vector<std::byte> v_pool_;
  std::vector<std::int32_t> block_table_;
  std::vector<std::int32_t> query_start_;
  std::vector<std::int32_t> context_length_;
  PagedAttentionInputs inputs_;
};

}  // namespace recto::verify
