#include "verify/kv_write_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "core/attention_gate.h"
#include "core/contract.h"
#include "reference/kv_cache_ops.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

struct NewToken {
  std::size_t sequence = 0;
  std::int64_t position = 0;
  std::int64_t slot = -1;
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
      // One that goes nowhere, as batches are padded with.
      if (tokens.size() % 3 == 2) tokens.push_back({s, position, -1});
    }
  }
  return tokens;
}

// K or V of the new tokens, in q's type, in which every value of a cache is exact.
std::vector<std::byte> new_rows(const AttentionProblem& problem,
                                const std::vector<NewToken>& tokens,
                                std::vector<float> SequenceProblem::*values,
                                std::int64_t head_dim) {
  const ElementType type = problem.shape.q_type;
  const std::int64_t row = problem.shape.num_kv_heads * head_dim;
  std::vector<std::byte> memory;
  for (const NewToken& token : tokens) {
    const float* const from =
        (problem.sequences[token.sequence].*values).data() + token.position * row;
    for (std::int64_t i = 0; i < row; ++i) {
      const std::uint32_t code = reference::encode(from[i], type);
      const auto* const bytes = reinterpret_cast<const std::byte*>(&code);
      memory.insert(memory.end(), bytes, bytes + element_bytes(type));
    }
  }
  return memory;
}

RowsView rows_view(const std::vector<std::byte>& memory, const KvTensorView& cache,
                   ElementType type, std::int64_t num_rows) {
  return {.data = memory.data(),
          .type = type,
          .num_rows = num_rows,
          .num_heads = cache.num_kv_heads,
          .head_dim = cache.head_dim,
          .row_stride = cache.num_kv_heads * cache.head_dim,
          .head_stride = cache.head_dim};
}

// A pool with none of its codes, so that the new ones are new.
std::vector<std::byte> other_pool(const KvTensorView& cache) {
  const auto* const first = static_cast<const std::byte*>(cache.data);
  const std::int64_t bytes = cache.num_blocks * cache.block_stride * element_bytes(cache.type);
  std::vector<std::byte> pool(first, first + bytes);
  for (std::byte& byte : pool) byte ^= std::byte{0x55};
  return pool;
}

MutableKvTensorView over(const KvTensorView& cache, std::vector<std::byte>& pool) {
  return {.data = pool.data(),
          .type = cache.type,
          .layout = cache.layout,
          .num_blocks = cache.num_blocks,
          .block_size = cache.block_size,
          .num_kv_heads = cache.num_kv_heads,
          .head_dim = cache.head_dim,
          .block_stride = cache.block_stride,
          .head_stride = cache.head_stride,
          .slot_stride = cache.slot_stride,
          .pack_width = cache.pack_width,
          .pack_stride = cache.pack_stride,
          .scale = cache.scale};
}

std::uint32_t code_at(const std::vector<std::byte>& pool, std::int64_t element,
                      std::int64_t bytes) {
  std::uint32_t code = 0;
  std::memcpy(&code, pool.data() + element * bytes, static_cast<std::size_t>(bytes));
  return code;
}

// The slot, head and dim that lie `offset` elements into a block.
std::string place_text(const KvTensorView& cache, std::int64_t offset) {
  for (std::int64_t slot = 0; slot < cache.block_size; ++slot) {
    for (std::int64_t head = 0; head < cache.num_kv_heads; ++head) {
      for (std::int64_t dim = 0; dim < cache.head_dim; ++dim) {
        const std::int64_t within =
            cache.layout == KvLayout::kPacked
                ? dim / cache.pack_width * cache.pack_stride + dim % cache.pack_width
                : dim;
        if (slot * cache.slot_stride + head * cache.head_stride + within == offset)
          return fmt::format("slot {}, head {}, dim {}", slot, head, dim);
      }
    }
  }
  return fmt::format("a gap, {} elements in", offset);
}

std::string pool_differences(const char* name, const std::vector<std::byte>& seen,
                             const std::vector<std::byte>& expected, const KvTensorView& cache) {
  const std::int64_t bytes = element_bytes(cache.type);
  const auto is_nan = [&cache](std::uint32_t code) {
    return std::isnan(reference::decode(code, cache.type));
  };
  std::int64_t wrong = 0;
  std::string first;
  for (std::int64_t i = 0; i < std::ssize(expected) / bytes; ++i) {
    const std::uint32_t wanted = code_at(expected, i, bytes);
    const std::uint32_t got = code_at(seen, i, bytes);
    if (got == wanted || (is_fp8(cache.type) && is_nan(wanted) && is_nan(got))) continue;
    if (wrong++ > 0) continue;
    first = fmt::format("block {}, {}: seen {:#x}, expected {:#x}", i / cache.block_stride,
                        place_text(cache, i % cache.block_stride), got, wanted);
  }
  if (wrong == 0) return "";
  return fmt::format("{} codes of the pool of {} are wrong, first in {}\n", wrong, name, first);
}

}  // namespace

KvWriteCase::KvWriteCase(const LawCase& law_case) : placed_(law_case.problem, law_case.placement) {
  const std::vector<NewToken> tokens = new_tokens(law_case.problem, placed_.inputs());
  new_k_ = new_rows(law_case.problem, tokens, &SequenceProblem::k, kv().k.head_dim);
  new_v_ = new_rows(law_case.problem, tokens, &SequenceProblem::v, kv().v.head_dim);
  for (const NewToken& token : tokens) slots_.push_back(token.slot);
  before_ = {.k = other_pool(kv().k), .v = other_pool(kv().v)};
  expected_ = before_;
  const KvWriteInputs write = inputs(expected_);
  RECTO_CHECK_EQ(check_contents(write), Status::ok());
  reference::write_kv(write);
}

KvWriteInputs KvWriteCase::inputs(KvPools& pools) const {
  const ElementType type = placed_.inputs().q.type;
  return {.k = rows_view(new_k_, kv().k, type, num_tokens()),
          .v = rows_view(new_v_, kv().v, type, num_tokens()),
          .slot_mapping = slots_,
          .kv = {.k = over(kv().k, pools.k), .v = over(kv().v, pools.v)}};
}

std::int64_t KvWriteCase::num_codes() const {
  return (std::ssize(expected_.k) + std::ssize(expected_.v)) / element_bytes(kv().k.type);
}

std::string KvWriteCase::differences(const KvPools& seen) const {
  RECTO_CHECK_EQ(seen.k.size(), expected_.k.size());
  RECTO_CHECK_EQ(seen.v.size(), expected_.v.size());
  return pool_differences("K", seen.k, expected_.k, kv().k) +
         pool_differences("V", seen.v, expected_.v, kv().v);
}

}  // namespace recto::verify
