#include "verify/cases/placed_problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "core/contract.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "reference/rounding.h"
#include "verify/cases/block_assignment.h"
#include "verify/cases/poison.h"

namespace recto::verify {
namespace {

static_assert(std::endian::native == std::endian::little, "codes are stored low byte first");

void store(std::vector<std::byte>& memory, ElementType type, std::int64_t index,
           std::uint32_t code) {
  const auto bytes = static_cast<std::size_t>(element_bytes(type));
  std::memcpy(memory.data() + static_cast<std::size_t>(index) * bytes, &code, bytes);
}

void store_value(std::vector<std::byte>& memory, ElementType type, std::int64_t index,
                 float value) {
  const std::uint32_t code = reference::encode(value, type);
  const double stored = reference::decode(code, type);
  if (!std::isnan(value)) RECTO_CHECK_EQ(stored, static_cast<double>(value));
  store(memory, type, index, code);
}

template <typename Code>
void fill_codes(std::vector<std::byte>& memory, PoisonCodes& codes) {
  for (std::size_t offset = 0; offset < memory.size(); offset += sizeof(Code)) {
    const auto code = static_cast<Code>(codes.next());
    std::memcpy(memory.data() + offset, &code, sizeof(Code));
  }
}

std::vector<std::byte> poisoned_memory(std::int64_t elements, ElementType type, PoisonCodes codes) {
  const std::int64_t bytes = element_bytes(type);
  std::vector<std::byte> memory(static_cast<std::size_t>(elements * bytes));
  if (bytes == 1) fill_codes<std::uint8_t>(memory, codes);
  if (bytes == 2) fill_codes<std::uint16_t>(memory, codes);
  if (bytes == 4) fill_codes<std::uint32_t>(memory, codes);
  return memory;
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

// Overwrites the poison with what the sequences hold, token by token.
void write_pool(const KvTensorView& view, const BlockAssignment& assignment,
                const std::vector<const std::vector<float>*>& contexts,
                std::vector<std::byte>& pool) {
  for (std::size_t s = 0; s < contexts.size(); ++s) {
    const std::vector<float>& values = *contexts[s];  // [context_length, num_kv_heads, head_dim]
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto flat = static_cast<std::int64_t>(i);
      const std::int64_t dim = flat % view.head_dim;
      const std::int64_t head = flat / view.head_dim % view.num_kv_heads;
      const std::int64_t token = flat / view.head_dim / view.num_kv_heads;
      const auto logical = static_cast<std::size_t>(token / view.block_size);
      const std::int64_t slot = token % view.block_size;
      const std::int64_t index = assignment.blocks[s][logical] * view.block_stride +
                                 head * view.head_stride + slot * view.slot_stride +
                                 offset_of_dim(view, dim);
      store_value(pool, view.type, index, values[i]);
    }
  }
}

KvScale scale_view(const std::vector<float>& scales) {
  if (scales.empty()) return {};
  return {.kind = scales.size() == 1 ? ScaleKind::kPerTensor : ScaleKind::kPerKvHead,
          .data = scales.data()};
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

// Places queries of all sequences, row after row, with poison in the gaps. Fills the view.
std::vector<std::byte> place_queries(const AttentionProblem& problem, const Placement& placement,
                                     RowsView& view) {
  view = strided_queries(problem, placement);
  const RandomStream stream = RandomStream(placement.seed).split("query poison");
  std::vector<std::byte> memory =
      poisoned_memory(std::max<std::int64_t>(1, view.num_rows * view.row_stride), view.type,
                      PoisonCodes(placement.poison, view.type, stream));
  std::int64_t row = 0;
  for (const SequenceProblem& sequence : problem.sequences) {
    for (std::size_t i = 0; i < sequence.q.size(); ++i) {
      const auto flat = static_cast<std::int64_t>(i);
      const std::int64_t head = row * view.num_heads + flat / view.head_dim;
      const std::int64_t index = head / view.num_heads * view.row_stride +
                                 head % view.num_heads * view.head_stride + flat % view.head_dim;
      store_value(memory, view.type, index, sequence.q[i]);
    }
    row += sequence.num_rows;
  }
  view.data = memory.data();  // remains valid when the vector moves
  return memory;
}

// Places one pool: poison first, then what the sequences hold. Fills the view's missing fields.
std::vector<std::byte> place_pool(const AttentionProblem& problem, const Placement& placement,
                                  const BlockAssignment& assignment, KvTensor tensor,
                                  KvTensorView& view) {
  const bool keys = tensor == KvTensor::kKeys;
  const PoisonedTensors spared = keys ? PoisonedTensors::kValuesOnly : PoisonedTensors::kKeysOnly;
  const Poison poison = placement.poisoned == spared ? Poison::kZero : placement.poison;
  const RandomStream stream =
      RandomStream(placement.seed).split(keys ? "key poison" : "value poison");
  view = strided_view(problem, placement, tensor);
  view.num_blocks = assignment.num_blocks;
  view.scale = scale_view(keys ? problem.k_scales : problem.v_scales);
  std::vector<std::byte> pool = poisoned_memory(view.num_blocks * view.block_stride, view.type,
                                                PoisonCodes(poison, view.type, stream));
  std::vector<const std::vector<float>*> contexts;
  for (const SequenceProblem& sequence : problem.sequences) {
    contexts.push_back(keys ? &sequence.k : &sequence.v);
  }
  write_pool(view, assignment, contexts, pool);
  view.data = pool.data();  // remains valid when the vector moves
  return pool;
}

}  // namespace

PlacedProblem::PlacedProblem(const AttentionProblem& problem, const Placement& placement)
    : problem_(problem) {
  check_sizes(problem_, placement);
  const BlockAssignment assignment = assign_blocks(problem_, placement);
  q_ = place_queries(problem_, placement, inputs_.q);
  k_pool_ = place_pool(problem_, placement, assignment, KvTensor::kKeys, inputs_.kv.k);
  v_pool_ = place_pool(problem_, placement, assignment, KvTensor::kValues, inputs_.kv.v);
  block_table_ = fill_block_table(assignment, placement);
  query_start_.push_back(0);
  for (const SequenceProblem& sequence : problem_.sequences) {
    query_start_.push_back(query_start_.back() + static_cast<std::int32_t>(sequence.num_rows));
    context_length_.push_back(static_cast<std::int32_t>(sequence.context_length));
  }
  inputs_.block_table = {.data = block_table_.data(),
                         .num_seqs = static_cast<std::int64_t>(problem_.sequences.size()),
                         .max_blocks = assignment.longest() + (placement.table_padding + 1) / 2,
                         .row_stride = assignment.longest() + placement.table_padding};
  inputs_.query_start = query_start_;
  inputs_.context_length = context_length_;
  inputs_.options = options_as<AttentionOptions>(problem_.options);
}

}  // namespace recto::verify
