#include "verify/cases/placed_problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/batch.h"
#include "core/contract.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "reference/rounding.h"
#include "verify/cases/block_assignment.h"
#include "verify/cases/poison.h"

namespace recto::verify {
namespace {

static_assert(std::endian::native == std::endian::little, "codes are stored low byte first");

void store_value(std::vector<std::byte>& memory, ElementType type, std::int64_t index,
                 float value) {
  const std::uint32_t code = reference::encode(value, type);
  const double stored = reference::decode(code, type);
  if (!std::isnan(value)) RECTO_CHECK_EQ(stored, static_cast<double>(value));
  const auto bytes = static_cast<std::size_t>(element_bytes(type));
  std::memcpy(memory.data() + static_cast<std::size_t>(index) * bytes, &code, bytes);
}

// Selects one of a cache's two tensors.
enum class KvTensor { kKeys, kValues };

struct PoolGaps {
  std::int64_t blocks = 0;
  std::int64_t slots = 0;
  std::int64_t heads = 0;
  std::int64_t pack_slots = 0;
};

PoolGaps gaps_of(const Placement& placement, KvTensor tensor) {
  const Gaps& gaps = placement.gaps;
  PoolGaps own = tensor == KvTensor::kKeys
                     ? PoolGaps{gaps.k_blocks, gaps.k_slots, gaps.k_heads, gaps.k_pack_slots}
                     : PoolGaps{gaps.v_blocks, gaps.v_slots, gaps.v_heads};
  own.blocks += placement.block_padding;
  return own;
}

KvTensorView strided_view(const AttentionProblem& problem, const Placement& placement,
                          KvTensor tensor) {
  const bool keys = tensor == KvTensor::kKeys;
  KvTensorView view;
  view.type = problem.shape.kv_type;
  view.layout = placement.layout;
  view.block_size = placement.block_size;
  view.num_kv_heads = problem.shape.num_kv_heads;
  view.head_dim = keys ? problem.shape.head_dim_k : problem.shape.head_dim_v;
  const PoolGaps gaps = gaps_of(placement, tensor);
  switch (view.layout) {
    case KvLayout::kTokenMajor:
      view.head_stride = view.head_dim + gaps.heads;
      view.slot_stride = view.num_kv_heads * view.head_stride + gaps.slots;
      view.block_stride = view.block_size * view.slot_stride + gaps.blocks;
      break;
    case KvLayout::kHeadMajor:
      view.slot_stride = view.head_dim + gaps.slots;
      view.head_stride = view.block_size * view.slot_stride + gaps.heads;
      view.block_stride = view.num_kv_heads * view.head_stride + gaps.blocks;
      break;
    case KvLayout::kPacked:
      view.pack_width = keys ? packed_width_k(view.type) : kPackedWidthV;
      view.slot_stride = view.pack_width + gaps.pack_slots;
      view.pack_stride = view.block_size * view.slot_stride + gaps.slots;
      RECTO_CHECK_EQ(view.head_dim % view.pack_width, 0);
      view.head_stride = view.head_dim / view.pack_width * view.pack_stride + gaps.heads;
      view.block_stride = view.num_kv_heads * view.head_stride + gaps.blocks;
      break;
  }
  return view;
}

std::int64_t offset_of_dim(const KvTensorView& view, std::int64_t dim) {
  if (view.layout != KvLayout::kPacked) return dim;
  return dim / view.pack_width * view.pack_stride + dim % view.pack_width;
}

// Overwrites the poison with what a sequence holds: [context_length, num_kv_heads, head_dim].
void write_context(const KvTensorView& view, const std::vector<std::int32_t>& blocks,
                   const std::vector<float>& values, std::vector<std::byte>& pool) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto flat = static_cast<std::int64_t>(i);
    const std::int64_t dim = flat % view.head_dim;
    const std::int64_t head = flat / view.head_dim % view.num_kv_heads;
    const std::int64_t token = flat / view.head_dim / view.num_kv_heads;
    const auto logical = static_cast<std::size_t>(token / view.block_size);
    const std::int64_t slot = token % view.block_size;
    const std::int64_t index = blocks[logical] * view.block_stride + head * view.head_stride +
                               slot * view.slot_stride + offset_of_dim(view, dim);
    store_value(pool, view.type, index, values[i]);
  }
}

void check_sizes(const AttentionProblem& problem, const Placement& placement) {
  const ProblemShape& shape = problem.shape;
  RECTO_CHECK_GE(placement.block_size, 1);
  for (const SequenceProblem& sequence : problem.sequences) {
    const std::int64_t kv_rows = sequence.context_length * shape.num_kv_heads;
    RECTO_CHECK_EQ(static_cast<std::int64_t>(sequence.q.size()),
                   sequence.num_rows * shape.num_q_heads * shape.head_dim_k);
    RECTO_CHECK_EQ(static_cast<std::int64_t>(sequence.k.size()), kv_rows * shape.head_dim_k);
    RECTO_CHECK_EQ(static_cast<std::int64_t>(sequence.v.size()), kv_rows * shape.head_dim_v);
  }
}

RowsView strided_queries(const AttentionProblem& problem, const Placement& placement) {
  const ProblemShape& shape = problem.shape;
  const std::int64_t head_stride = shape.head_dim_k + placement.gaps.q_heads;
  return {
      .type = shape.q_type,
      .num_rows = problem.num_rows(),
      .num_heads = shape.num_q_heads,
      .head_dim = shape.head_dim_k,
      .row_stride = shape.num_q_heads * head_stride + placement.row_padding + placement.gaps.q_rows,
      .head_stride = head_stride};
}

BatchLayout layout_of(const AttentionProblem& problem, const Placement& placement,
                      const BlockAssignment& assignment) {
  const std::int64_t longest = assignment.longest();
  BatchLayout layout{.q = strided_queries(problem, placement),
                     .kv = {strided_view(problem, placement, KvTensor::kKeys),
                            strided_view(problem, placement, KvTensor::kValues)},
                     .table_size = {.max_blocks = longest + (placement.table_padding + 1) / 2,
                                    .row_stride = longest + placement.table_padding},
                     .options = problem.options,
                     .k_scales = problem.k_scales,
                     .v_scales = problem.v_scales};
  layout.kv.k.num_blocks = layout.kv.v.num_blocks = assignment.num_blocks;
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    layout.sequences.push_back({.num_rows = problem.sequences[s].num_rows,
                                .context_length = problem.sequences[s].context_length,
                                .blocks = assignment.blocks[s]});
  }
  return layout;
}

// Writes the queries of all sequences, row after row, and poison into the gaps.
void write_queries(const AttentionProblem& problem, const Placement& placement, Batch& batch) {
  const RowsView& view = batch.inputs.q;
  const RandomStream stream = RandomStream(placement.seed).split("query poison");
  fill_with(batch.q, PoisonCodes(placement.poison, view.type, stream));
  std::int64_t row = 0;
  for (const SequenceProblem& sequence : problem.sequences) {
    for (std::size_t i = 0; i < sequence.q.size(); ++i) {
      const auto flat = static_cast<std::int64_t>(i);
      const std::int64_t head = row * view.num_heads + flat / view.head_dim;
      const std::int64_t index = head / view.num_heads * view.row_stride +
                                 head % view.num_heads * view.head_stride + flat % view.head_dim;
      store_value(batch.q, view.type, index, sequence.q[i]);
    }
    row += sequence.num_rows;
  }
}

// Fills all blocks of sequences, with the gaps behind their heads and slots.
void fill_blocks(const KvTensorView& view, const BlockAssignment& assignment,
                 const PoisonCodes& codes, std::vector<std::byte>& pool) {
  const auto block_bytes = static_cast<std::size_t>(view.block_stride * element_bytes(view.type));
  for (const std::vector<std::int32_t>& blocks : assignment.blocks) {
    for (const std::int32_t block : blocks) {
      const std::size_t begin = static_cast<std::size_t>(block) * block_bytes;
      const std::size_t bytes = std::min(block_bytes, pool.size() - begin);
      fill_with(std::span(pool).subspan(begin, bytes), codes);
    }
  }
}

// Fills one pool with poison, and then writes what the sequences hold.
void write_pool(const AttentionProblem& problem, const Placement& placement, KvTensor tensor,
                const BlockAssignment& assignment, Batch& batch) {
  const bool keys = tensor == KvTensor::kKeys;
  const PoisonedTensors spared = keys ? PoisonedTensors::kValuesOnly : PoisonedTensors::kKeysOnly;
  const Poison poison = placement.poisoned == spared ? Poison::kZero : placement.poison;
  const RandomStream stream =
      RandomStream(placement.seed).split(keys ? "key poison" : "value poison");
  const KvTensorView& view = keys ? batch.inputs.kv.k : batch.inputs.kv.v;
  std::vector<std::byte>& pool = keys ? batch.pools.k : batch.pools.v;
  fill_with(pool, PoisonCodes(poison, view.type, stream));
  if (const Poison tails = limited(poison, placement.tails); tails != poison)
    fill_blocks(view, assignment, PoisonCodes(tails, view.type, stream), pool);
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    const SequenceProblem& sequence = problem.sequences[s];
    write_context(view, assignment.blocks[s], keys ? sequence.k : sequence.v, pool);
  }
}

Batch placed(const AttentionProblem& problem, const Placement& placement) {
  check_sizes(problem, placement);
  const BlockAssignment assignment = assign_blocks(problem, placement);
  Batch batch(layout_of(problem, placement, assignment));
  write_queries(problem, placement, batch);
  write_pool(problem, placement, KvTensor::kKeys, assignment, batch);
  write_pool(problem, placement, KvTensor::kValues, assignment, batch);
  fill_beyond_blocks(assignment, placement, batch.lists);
  return batch;
}

}  // namespace

PlacedProblem::PlacedProblem(const AttentionProblem& problem, const Placement& placement)
    : batch_(placed(problem, placement)) {}

}  // namespace recto::verify
