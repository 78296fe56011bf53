#include "verify/cases/placed_problem.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "bazel/testing/catch.h"
#include "core/attention_gate.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

std::vector<float> random_values(std::int64_t count, ElementType type, RandomStream& stream) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(reference::round_to(4.0 * stream.next_unit() - 2.0, type));
  }
  return values;
}

// Sequences of 9, 0, 4 and 5 tokens; head dims 16 and 3 differ, and so do 6 and 2 heads.
AttentionProblem small_problem(ElementType q_type, ElementType kv_type) {
  AttentionProblem problem;
  problem.shape = {.num_q_heads = 6,
                   .num_kv_heads = 2,
                   .head_dim_k = 16,
                   .head_dim_v = 3,
                   .q_type = q_type,
                   .kv_type = kv_type};
  RandomStream stream(7);
  for (const auto& [rows, context] : {std::pair(2, 9), {1, 0}, {0, 4}, {7, 5}}) {
    problem.sequences.push_back({.num_rows = rows,
                                 .context_length = context,
                                 .q = random_values(rows * 6 * 16, q_type, stream),
                                 .k = random_values(context * 2 * 16, kv_type, stream),
                                 .v = random_values(context * 2 * 3, kv_type, stream)});
  }
  return problem;
}

std::uint32_t load(const void* data, ElementType type, std::int64_t index) {
  std::uint32_t code = 0;
  const std::int64_t bytes = element_bytes(type);
  std::memcpy(&code, static_cast<const char*>(data) + index * bytes,
              static_cast<std::size_t>(bytes));
  return code;
}

struct Place {
  std::int64_t block, head, slot, dim;
};

// The index of an element in an unpadded block, by the shapes of core/paged_kv_view.h.
std::int64_t index_in_block(const KvTensorView& view, const Place& at, std::int64_t x) {
  switch (view.layout) {
    case KvLayout::kTokenMajor:  // [block_size, num_kv_heads, head_dim]
      return (at.slot * view.num_kv_heads + at.head) * view.head_dim + at.dim;
    case KvLayout::kHeadMajor:  // [num_kv_heads, block_size, head_dim]
      return (at.head * view.block_size + at.slot) * view.head_dim + at.dim;
    case KvLayout::kPacked:  // [num_kv_heads, head_dim / x, block_size, x]
      return ((at.head * (view.head_dim / x) + at.dim / x) * view.block_size + at.slot) * x +
             at.dim % x;
  }
  return -1;
}

std::uint32_t read_element(const KvTensorView& view, const Placement& placement, const Place& at,
                           std::int64_t x) {
  const std::int64_t block_elements =
      view.block_size * view.num_kv_heads * view.head_dim + placement.block_padding;
  return load(view.data, view.type, at.block * block_elements + index_in_block(view, at, x));
}

// Compares the slots that the table of sequence `s` addresses with the sequence's numbers.
void check_context(const PagedAttentionInputs& inputs, const Placement& placement,
                   const AttentionProblem& problem, std::int64_t s) {
  const SequenceProblem& sequence = problem.sequences[static_cast<std::size_t>(s)];
  const std::int64_t x = 16 / element_bytes(problem.shape.kv_type);
  for (const bool is_k : {true, false}) {
    const KvTensorView& view = is_k ? inputs.kv.k : inputs.kv.v;
    const std::vector<float>& values = is_k ? sequence.k : sequence.v;
    std::size_t i = 0;
    for (std::int64_t token = 0; token < sequence.context_length; ++token) {
      const std::int64_t row = s * inputs.block_table.row_stride;
      const std::int64_t block = inputs.block_table.data[row + token / placement.block_size];
      for (std::int64_t head = 0; head < view.num_kv_heads; ++head) {
        for (std::int64_t dim = 0; dim < view.head_dim; ++dim) {
          const Place at{block, head, token % placement.block_size, dim};
          REQUIRE(read_element(view, placement, at, is_k ? x : 1) ==
                  reference::encode(values[i++], view.type));
        }
      }
    }
    REQUIRE(i == values.size());
  }
}

void check_queries(const PagedAttentionInputs& inputs, const Placement& placement,
                   const AttentionProblem& problem) {
  const ProblemShape& shape = problem.shape;
  const std::int64_t stride = shape.num_q_heads * shape.head_dim_k + placement.row_padding;
  std::int64_t row = 0;
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    const SequenceProblem& sequence = problem.sequences[s];
    CHECK(inputs.query_start[s] == row);
    CHECK(inputs.context_length[s] == sequence.context_length);
    std::size_t i = 0;
    for (std::int64_t r = 0; r < sequence.num_rows; ++r, ++row) {
      for (std::int64_t e = 0; e < shape.num_q_heads * shape.head_dim_k; ++e) {
        REQUIRE(load(inputs.q.data, shape.q_type, row * stride + e) ==
                reference::encode(sequence.q[i++], shape.q_type));
      }
    }
  }
  CHECK(inputs.query_start.back() == row);
  CHECK(inputs.q.num_rows == row);
}

TEST_CASE("reading through the table gives the problem's numbers, in every layout and order") {
  using enum ElementType;
  const std::pair<ElementType, ElementType> types[] = {
      {kFp32, kFp32}, {kFp16, kFp16}, {kBf16, kBf16}, {kFp16, kE4m3}, {kBf16, kE5m2}};
  for (const auto& [q_type, kv_type] : types) {
    const AttentionProblem problem = small_problem(q_type, kv_type);
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      for (const BlockOrder order : kBlockOrders) {
        for (const std::int64_t padding : {0, 16, 48}) {
          CAPTURE(q_type, kv_type, layout, block_order_name(order), padding);
          const Placement placement{.layout = layout,
                                    .block_size = 4,
                                    .order = order,
                                    .block_padding = padding,
                                    .row_padding = padding,
                                    .table_padding = padding / 16};
          const PlacedProblem placed(problem, placement);
          REQUIRE(check_shapes(placed.inputs(), {.alignment_bytes = 0}) == Status::ok());
          REQUIRE(check_contents(placed.inputs()) == Status::ok());
          for (std::int64_t s = 0; s < 4; ++s)
            check_context(placed.inputs(), placement, problem, s);
          check_queries(placed.inputs(), placement, problem);
        }
      }
    }
  }
}

// The blocks of each sequence.
std::vector<std::vector<std::int32_t>> blocks_of(const PagedAttentionInputs& inputs) {
  std::vector<std::vector<std::int32_t>> blocks;
  for (std::int64_t s = 0; s < inputs.block_table.num_seqs; ++s) {
    const std::int32_t* row = inputs.block_table.data + s * inputs.block_table.row_stride;
    const std::int64_t size = inputs.kv.k.block_size;
    const std::int64_t length = inputs.context_length[static_cast<std::size_t>(s)];
    blocks.emplace_back(row, row + (length + size - 1) / size);
  }
  return blocks;
}

TEST_CASE("block orders are ascending, descending, anywhere, or at the end of the pool") {
  // 3 + 0 + 1 + 2 blocks.
  const AttentionProblem problem = small_problem(ElementType::kFp32, ElementType::kFp32);
  const auto place = [&](BlockOrder order, std::uint64_t seed) {
    const PlacedProblem placed(
        problem, {.block_size = 4, .order = order, .spare_blocks = 100, .seed = seed});
    CHECK(placed.inputs().kv.k.num_blocks == 106);
    return blocks_of(placed.inputs());
  };
  CHECK(place(BlockOrder::kAscending, 1) ==
        std::vector<std::vector<std::int32_t>>{{0, 1, 2}, {}, {3}, {4, 5}});
  CHECK(place(BlockOrder::kDescending, 1) ==
        std::vector<std::vector<std::int32_t>>{{5, 4, 3}, {}, {2}, {1, 0}});
  for (const auto& [order, lowest] :
       {std::pair(BlockOrder::kShuffled, 0), std::pair(BlockOrder::kHighIds, 100)}) {
    std::set<std::int32_t> ids;
    for (const std::vector<std::int32_t>& row : place(order, 1)) {
      ids.insert(row.begin(), row.end());
    }
    CHECK(ids.size() == 6);
    CHECK(*ids.begin() >= lowest);
    CHECK(*ids.rbegin() < 106);
    CHECK(place(order, 1) == place(order, 1));
    CHECK(place(order, 1) != place(order, 2));
  }
}

// Sequences whose first `common` tokens agree.
AttentionProblem problem_with_prefix(std::int64_t common) {
  AttentionProblem problem = small_problem(ElementType::kFp16, ElementType::kFp16);
  for (SequenceProblem& sequence : problem.sequences) {
    const SequenceProblem& first = problem.sequences.front();
    const std::int64_t tokens = std::min(common, sequence.context_length);
    std::copy_n(first.k.begin(), tokens * 2 * 16, sequence.k.begin());
    std::copy_n(first.v.begin(), tokens * 2 * 3, sequence.v.begin());
  }
  return problem;
}

TEST_CASE("whole leading blocks with equal K and V are one physical block, on request") {
  const Placement placement{
      .block_size = 4, .order = BlockOrder::kAscending, .shares_prefixes = true};
  const auto place = [&](const AttentionProblem& problem, const Placement& with) {
    return blocks_of(PlacedProblem(problem, with).inputs());
  };
  using Blocks = std::vector<std::vector<std::int32_t>>;
  CHECK(place(problem_with_prefix(4), placement) == Blocks{{0, 1, 2}, {}, {0}, {0, 3}});
  // With one common token less, no block is shared.
  CHECK(place(problem_with_prefix(3), placement) == Blocks{{0, 1, 2}, {}, {3}, {4, 5}});
  // The last sequence's fifth token equals the first sequence's, but its block is not full.
  CHECK(place(problem_with_prefix(5), placement) == Blocks{{0, 1, 2}, {}, {0}, {0, 3}});
  Placement unshared = placement;
  unshared.shares_prefixes = false;
  CHECK(place(problem_with_prefix(4), unshared) == Blocks{{0, 1, 2}, {}, {3}, {4, 5}});
}

TEST_CASE("a difference in a bit of V, or in an earlier block, keeps blocks apart") {
  const Placement placement{
      .block_size = 2, .order = BlockOrder::kAscending, .shares_prefixes = true};
  using Blocks = std::vector<std::vector<std::int32_t>>;
  AttentionProblem problem = problem_with_prefix(4);
  CHECK(blocks_of(PlacedProblem(problem, placement).inputs()) ==
        Blocks{{0, 1, 2, 3, 4}, {}, {0, 1}, {0, 1, 5}});
  problem.sequences[2].v[0] = -0.0F;
  problem.sequences[3].v[0] = 0.0F;
  CHECK(blocks_of(PlacedProblem(problem, placement).inputs()) ==
        Blocks{{0, 1, 2, 3, 4}, {}, {5, 6}, {7, 8, 9}});
}

TEST_CASE("a placed problem keeps its memory when it moves") {
  AttentionProblem problem = small_problem(ElementType::kFp16, ElementType::kE4m3);
  problem.options.sinks = {1, 2, 3, 4, 5, 6};
  problem.k_scales = {0.5F, 1.5F};
  problem.v_scales = {0.75F};
  PlacedProblem placed(problem, {.block_size = 4});
  const PlacedProblem moved(std::move(placed));
  problem.options.sinks.clear();
  const PagedAttentionInputs& inputs = moved.inputs();
  CHECK(inputs.options.sinks[5] == 6.0F);
  CHECK(inputs.kv.k.scale.kind == ScaleKind::kPerKvHead);
  CHECK(inputs.kv.k.scale.data[1] == 1.5F);
  CHECK(inputs.kv.v.scale.kind == ScaleKind::kPerTensor);
  CHECK(inputs.kv.v.scale.data[0] == 0.75F);
  CHECK(check_contents(inputs) == Status::ok());
  check_context(inputs, {.block_size = 4}, problem, 0);
}

TEST_CASE("a value that its type cannot hold is a broken contract, one that it can is not") {
  AttentionProblem problem = small_problem(ElementType::kFp16, ElementType::kE4m3);
  problem.sequences[0].k[5] = 1.125F;
  CHECK_NOTHROW(PlacedProblem(problem, Placement{}));
  problem.sequences[0].k[5] = 1.0625F;
  CHECK_THROWS_AS(PlacedProblem(problem, Placement{}), ContractFailure);
  problem.sequences[0].k[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_NOTHROW(PlacedProblem(problem, Placement{}));
  problem.sequences[0].k.pop_back();
  CHECK_THROWS_AS(PlacedProblem(problem, Placement{}), ContractFailure);
}

TEST_CASE("a problem without keys still has a pool and a table") {
  AttentionProblem problem = small_problem(ElementType::kFp32, ElementType::kFp32);
  problem.sequences = {problem.sequences[1]};
  const PlacedProblem placed(problem, {.spare_blocks = 0});
  CHECK(placed.inputs().kv.k.num_blocks == 1);
  CHECK(placed.inputs().block_table.max_blocks == 1);
  CHECK(check_contents(placed.inputs()) == Status::ok());
}

}  // namespace
}  // namespace recto::verify
