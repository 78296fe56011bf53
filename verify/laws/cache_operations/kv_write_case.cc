#include "verify/laws/cache_operations/kv_write_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "core/attention_gate.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "reference/kv_cache_ops.h"
#include "reference/kv_cache_reader.h"
#include "reference/rounding.h"
#include "verify/laws/cache_operations/write_fault_models.h"

namespace recto::verify {
namespace {

struct NewToken {
  std::size_t sequence = 0;
  std::int64_t position = 0;
  std::int64_t slot = -1;
  bool is_padding = false;  // has the position's values, negated
};

std::vector<NewToken> new_tokens(const AttentionProblem& problem,
                                 const PagedAttentionInputs& inputs) {
  const std::int64_t block_size = inputs.kv.k.block_size;
  std::vector<NewToken> tokens;
  std::set<std::int64_t> taken;  // sequences may share blocks
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    const SequenceProblem& sequence = problem.sequences[s];
    const std::int32_t* const blocks =
        inputs.block_table.data + static_cast<std::int64_t>(s) * inputs.block_table.row_stride;
    const std::int64_t count = std::max<std::int64_t>(1, sequence.num_rows);
    for (std::int64_t position = std::max<std::int64_t>(0, sequence.context_length - count);
         position < sequence.context_length; ++position) {
      const std::int64_t slot = blocks[position / block_size] * block_size + position % block_size;
      tokens.push_back({s, position, taken.insert(slot).second ? slot : -1});
      // A padding token, which has no slot.
      if (tokens.size() % 3 == 2) tokens.push_back({s, position, -1, true});
    }
  }
  return tokens;
}

// Scales with few bits, so that a tie of fp8 times a scale is exact in 16 bits. Their fp32
// reciprocals are so inexact that x * (1 / scale) misses ties that x / scale hits.
constexpr float kShortScales[] = {0.46875F, 0.8125F, 0.875F, 0.9375F, 1.75F, 1.96875F};

void shorten_half(RandomStream stream, std::vector<float>& scales) {
  for (float& scale : scales)
    if (stream.next_below(2) == 0) scale = kShortScales[stream.next_below(std::size(kShortScales))];
}

AttentionProblem with_short_scales(AttentionProblem problem, std::uint64_t seed) {
  const RandomStream stream = RandomStream(seed).split("short scales");
  shorten_half(stream.split("k"), problem.k_scales);
  shorten_half(stream.split("v"), problem.v_scales);
  return problem;
}

// The type's number next to `value`, away from zero or towards it; `value` if there is none.
double next_number(double value, ElementType type, std::int64_t away) {
  const std::uint32_t code = reference::encode(value, type);
  const double next = reference::decode(code + static_cast<std::uint32_t>(away), type);
  return value != 0 && std::isfinite(next) ? next : value;
}

// The value to write where the case has `value`, exact in q's type. For fp8, some numbers divided
// by the scale are halfway between two codes, or as close to that as q's type gets, on either side;
// others are beyond the largest code.
double new_value(float value, std::int64_t turn, const ProblemShape& shape, double scale) {
  const ElementType type = shape.kv_type;
  if (!is_fp8(type) || std::isnan(value)) return value;
  const double largest = reference::largest_finite(type);
  if (turn % 4 == 1 && std::abs(value) < largest) {
    const double next = reference::decode(reference::encode(value, type) + 1, type);
    const double tie = reference::round_to((value + next) / 2 * scale, shape.q_type,
                                           reference::Overflow::kSaturate);
    constexpr std::int64_t kAway[] = {0, 1, 0, -1};
    return next_number(tie, shape.q_type, kAway[turn / 4 % 4]);
  }
  if (turn % 4 == 3) {
    const double beyond = std::min(2 * largest, reference::largest_finite(shape.q_type));
    return std::copysign(beyond, value);
  }
  return value;
}

void append_code(std::vector<std::byte>& memory, ElementType type, double value) {
  const std::uint32_t code = reference::encode(value, type);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&code);
  memory.insert(memory.end(), bytes, bytes + element_bytes(type));
}

// A gap that must not be read.
void append_gap(std::vector<std::byte>& memory, ElementType type, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i)
    append_code(memory, type, std::numeric_limits<double>::quiet_NaN());
}

void negate(std::vector<std::byte>& memory, ElementType type) {
  const auto bytes = static_cast<std::size_t>(element_bytes(type));
  for (std::size_t last = bytes - 1; last < memory.size(); last += bytes)
    memory[last] ^= std::byte{0x80};
}

// Each slot occurs at most once, as before; -1 stays.
void change_slots(std::vector<std::int64_t>& slots, std::int64_t num_slots) {
  const std::vector<std::int64_t> before = slots;
  std::ranges::reverse(slots);
  if (slots != before) return;
  for (std::int64_t& slot : slots)
    if (slot >= 0) slot = (slot + 1) % num_slots;
}

// K or V of the new tokens, in q's type.
std::vector<std::byte> new_rows(const AttentionProblem& problem,
                                const std::vector<NewToken>& tokens,
                                std::vector<float> SequenceProblem::*values,
                                const KvTensorView& cache, const RowGaps& gaps) {
  const ElementType type = problem.shape.q_type;
  const std::int64_t head_dim = cache.head_dim;
  const std::int64_t row = problem.shape.num_kv_heads * head_dim;
  std::vector<std::byte> memory;
  for (const NewToken& token : tokens) {
    const float* const from =
        (problem.sequences[token.sequence].*values).data() + token.position * row;
    for (std::int64_t i = 0; i < row; ++i) {
      const double sign = token.is_padding ? -1 : 1;
      const double scale = reference::scale_of(cache, i / head_dim);
      append_code(memory, type,
                  sign * new_value(from[i], token.position + i, problem.shape, scale));
      if ((i + 1) % head_dim == 0) append_gap(memory, type, gaps.heads);
    }
    append_gap(memory, type, gaps.rows);
  }
  return memory;
}

RowsView rows_view(const std::vector<std::byte>& memory, const KvTensorView& cache,
                   ElementType type, const RowGaps& gaps) {
  RowsView rows = {.data = memory.data(),
                   .type = type,
                   .num_heads = cache.num_kv_heads,
                   .head_dim = cache.head_dim,
                   .head_stride = cache.head_dim + gaps.heads};
  rows.row_stride = rows.num_heads * rows.head_stride + gaps.rows;
  rows.num_rows = std::ssize(memory) / (rows.row_stride * element_bytes(type));
  return rows;
}

// Appends all heads' codes.
void add_codes(const KvTensorView& cache, const std::vector<std::byte>& pool, std::int64_t slot,
               std::string& codes) {
  const std::int64_t bytes = element_bytes(cache.type);
  for (std::int64_t head = 0; head < cache.num_kv_heads; ++head) {
    for (std::int64_t dim = 0; dim < cache.head_dim; ++dim) {
      const std::int64_t element = reference::element_offset(cache, slot / cache.block_size, head,
                                                             slot % cache.block_size, dim);
      const auto* const code = reinterpret_cast<const char*>(pool.data() + element * bytes);
      codes.append(code, static_cast<std::size_t>(bytes));
    }
  }
}

}  // namespace

KvWriteCase::KvWriteCase(const LawCase& law_case, WrittenTokens written)
    : placed_(with_short_scales(law_case.problem, law_case.placement.seed), law_case.placement) {
  const std::vector<NewToken> tokens = new_tokens(law_case.problem, placed_.inputs());
  const Gaps& gaps = law_case.placement.gaps;
  k_gaps_ = {.rows = gaps.new_k_rows, .heads = gaps.new_k_heads};
  v_gaps_ = {.rows = gaps.new_v_rows, .heads = gaps.new_v_heads};
  new_k_ = new_rows(law_case.problem, tokens, &SequenceProblem::k, kv().k, k_gaps_);
  new_v_ = new_rows(law_case.problem, tokens, &SequenceProblem::v, kv().v, v_gaps_);
  for (const NewToken& token : tokens) slots_.push_back(token.slot);
  if (written == WrittenTokens::kOther) {
    negate(new_k_, law_case.problem.shape.q_type);
    negate(new_v_, law_case.problem.shape.q_type);
    change_slots(slots_, kv().k.num_blocks * kv().k.block_size);
  }
  before_ = other_pools(kv());
  expected_ = before_;
  const KvWriteInputs write = inputs(expected_.over(kv()));
  RECTO_CHECK_EQ(check_contents(write), Status::ok());
  reference::write_kv(write);
}

KvWriteInputs KvWriteCase::inputs(const MutablePagedKvView& pools) const {
  const ElementType type = placed_.inputs().q.type;
  return {.k = rows_view(new_k_, kv().k, type, k_gaps_),
          .v = rows_view(new_v_, kv().v, type, v_gaps_),
          .slot_mapping = slots_,
          .kv = pools};
}

std::int64_t KvWriteCase::num_codes() const { return recto::verify::num_codes(expected_, kv()); }

std::string KvWriteCase::differences(const KvPools& seen) const {
  const WrittenPools pools{before_, expected_, seen};
  const std::string found = pool_differences(pools, kv(), NanCodes::kAnyOfFp8);
  if (found.empty()) return found;
  KvPools scratch = before_;
  const KvWriteInputs write = inputs(scratch.over(kv()));
  return found + written_padding(seen) + slots_text(slots_) +
         faults_text(try_write_fault_models(write, kv(), pools));
}

// The codes that each row of slot -1 would leave in a slot, so that they are recognised in wrong
// slots. A row's codes do not depend on its slot.
std::map<std::string, std::size_t> KvWriteCase::padding_rows() const {
  std::map<std::string, std::size_t> rows;
  KvPools scratch = before_;
  std::vector<std::int64_t> slots(slots_.size(), -1);
  KvWriteInputs write = inputs(scratch.over(kv()));
  write.slot_mapping = slots;
  for (std::size_t row = 0; row < slots_.size(); ++row) {
    if (slots_[row] >= 0) continue;
    slots[row] = 0;
    reference::write_kv(write);
    slots[row] = -1;
    rows.try_emplace(codes_at(scratch, 0), row);
  }
  return rows;
}

std::string KvWriteCase::codes_at(const KvPools& pools, std::int64_t slot) const {
  std::string codes;
  add_codes(kv().k, pools.k, slot, codes);
  add_codes(kv().v, pools.v, slot, codes);
  return codes;
}

std::string KvWriteCase::written_padding(const KvPools& seen) const {
  const PagedKvView& cache = kv();
  const std::map<std::string, std::size_t> rows = padding_rows();
  if (rows.empty()) return {};
  for (std::int64_t slot = 0; slot < cache.k.num_blocks * cache.k.block_size; ++slot) {
    const std::string codes = codes_at(seen, slot);
    const auto row = rows.find(codes);
    if (row == rows.end() || codes == codes_at(expected_, slot)) continue;
    const auto owner = std::ranges::find(slots_, slot);
    const std::string right = owner == slots_.end()
                                  ? "should not change"
                                  : fmt::format("is row {}'s", owner - slots_.begin());
    return fmt::format("row {} has slot -1, and was written to block {}, slot {}, which {}\n",
                       row->second, slot / cache.k.block_size, slot % cache.k.block_size, right);
  }
  return {};
}

std::optional<std::string> why_no_token(const LawCase& law_case) {
  for (const SequenceProblem& sequence : law_case.problem.sequences)
    if (sequence.context_length > 0) return std::nullopt;
  return "no token to write";
}

}  // namespace recto::verify
