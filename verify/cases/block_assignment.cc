#include "verify/cases/block_assignment.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::verify {
namespace {

void append_bytes(std::string& bytes, const std::vector<float>& values, std::int64_t first,
                  std::int64_t count) {
  bytes.append(reinterpret_cast<const char*>(values.data() + first),
               static_cast<std::size_t>(count) * sizeof(float));
}

// The bits of K and V of the full block `index`.
std::string block_content(const AttentionProblem& problem, const SequenceProblem& sequence,
                          std::int64_t index, std::int64_t block_size) {
  const std::int64_t k_block = block_size * problem.shape.num_kv_heads * problem.shape.head_dim_k;
  const std::int64_t v_block = block_size * problem.shape.num_kv_heads * problem.shape.head_dim_v;
  std::string bytes;
  append_bytes(bytes, sequence.k, index * k_block, k_block);
  append_bytes(bytes, sequence.v, index * v_block, v_block);
  return bytes;
}

// Numbers the held blocks 0, 1, 2 ... in the order in which the sequences first need them.
class HeldBlocks {
 public:
  HeldBlocks(const AttentionProblem& problem, const Placement& placement)
      : problem_(problem), placement_(placement) {}

  std::vector<std::int64_t> number(const SequenceProblem& sequence) {
    const std::int64_t size = placement_.block_size;
    const std::int64_t full_blocks = sequence.context_length / size;
    std::vector<std::int64_t> numbers;
    std::int64_t parent = -1;
    for (std::int64_t index = 0; index * size < sequence.context_length; ++index) {
      std::int64_t held = count_;
      if (placement_.shares_prefixes && index < full_blocks) {
        const auto content = block_content(problem_, sequence, index, size);
        held = shared_.try_emplace({parent, content}, count_).first->second;
      }
      if (held == count_) ++count_;
      numbers.push_back(held);
      parent = held;
    }
    return numbers;
  }

  std::int64_t count() const { return count_; }

 private:
  const AttentionProblem& problem_;
  const Placement& placement_;
  std::int64_t count_ = 0;
  // A block is identified by its predecessor (-1: it is the first) and its content.
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> shared_;
};

// The physical ids of held blocks 0, 1, 2 ...: [held].
std::vector<std::int32_t> physical_ids(std::int64_t held, std::int64_t num_blocks,
                                       const Placement& placement) {
  RandomStream stream = RandomStream(placement.seed).split("block order");
  std::vector<std::int32_t> ids(static_cast<std::size_t>(num_blocks));
  std::iota(ids.begin(), ids.end(), 0);
  switch (placement.order) {
    case BlockOrder::kAscending:
      ids.resize(static_cast<std::size_t>(held));
      return ids;
    case BlockOrder::kDescending:
      ids.resize(static_cast<std::size_t>(held));
      std::ranges::reverse(ids);
      return ids;
    case BlockOrder::kShuffled:
      shuffle(ids, stream);
      ids.resize(static_cast<std::size_t>(held));
      return ids;
    case BlockOrder::kHighIds:
      ids.erase(ids.begin(), ids.end() - held);
      shuffle(ids, stream);
      return ids;
  }
  RECTO_UNREACHABLE("every order has its ids");
}

// Ids that would mislead a careless reader of the table: out of range on either side, or in the
// pool.
std::int32_t garbage_id(std::int64_t num_blocks, RandomStream& stream) {
  const auto pool = static_cast<std::uint64_t>(num_blocks);
  switch (stream.next_below(6)) {
    case 0:
      return -1;
    case 1:
      return std::numeric_limits<std::int32_t>::max();
    case 2:
      return std::numeric_limits<std::int32_t>::min();
    case 3:
      return static_cast<std::int32_t>(num_blocks +
                                       static_cast<std::int64_t>(stream.next_below(pool)));
    default:
      return static_cast<std::int32_t>(stream.next_below(pool));
  }
}

}  // namespace

std::int64_t BlockAssignment::longest() const {
  std::size_t longest = 1;
  for (const std::vector<std::int32_t>& row : blocks) longest = std::max(longest, row.size());
  return static_cast<std::int64_t>(longest);
}

BlockAssignment assign_blocks(const AttentionProblem& problem, const Placement& placement) {
  HeldBlocks held(problem, placement);
  std::vector<std::vector<std::int64_t>> numbers;
  for (const SequenceProblem& sequence : problem.sequences) {
    numbers.push_back(held.number(sequence));
  }
  BlockAssignment assignment;
  assignment.num_blocks = std::max<std::int64_t>(1, held.count() + placement.spare_blocks);
  // Garbage ids reach up to twice the pool.
  RECTO_CHECK_LE(assignment.num_blocks, std::numeric_limits<std::int32_t>::max() / 2);
  const std::vector<std::int32_t> ids =
      physical_ids(held.count(), assignment.num_blocks, placement);
  for (const std::vector<std::int64_t>& row : numbers) {
    std::vector<std::int32_t>& blocks = assignment.blocks.emplace_back();
    for (const std::int64_t number : row) blocks.push_back(ids[static_cast<std::size_t>(number)]);
  }
  return assignment;
}

void fill_beyond_blocks(const BlockAssignment& assignment, const Placement& placement,
                        BatchLists& lists) {
  const auto columns = static_cast<std::size_t>(lists.table_size.row_stride);
  RandomStream stream = RandomStream(placement.seed).split("block table");
  for (std::size_t row = 0; row < assignment.blocks.size(); ++row) {
    for (std::size_t column = assignment.blocks[row].size(); column < columns; ++column) {
      const bool garbage = placement.garbage_beyond_table;
      lists.block_table[row * columns + column] =
          garbage ? garbage_id(assignment.num_blocks, stream) : 0;
    }
  }
}

}  // namespace recto::verify
