#include "verify/kernel_abi/kv_write_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <set>
#include <vector>

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

std::vector<NewToken> new_tokens(const LawCase& law_case, const PagedAttentionInputs& inputs) {
  const std::int64_t block_size = inputs.kv.k.block_size;
  std::vector<NewToken> tokens;
  std::set<std::int64_t> taken;  // sequences may share blocks
  for (std::size_t s = 0; s < law_case.problem.sequences.size(); ++s) {
    const SequenceProblem& sequence = law_case.problem.sequences[s];
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

struct Pools {
  explicit Pools(const PagedKvView& kv) : k(other_pool(kv.k)), v(other_pool(kv.v)) {}

  MutablePagedKvView over(const PagedKvView& kv) {
    return {.k = verify::over(kv.k, k), .v = verify::over(kv.v, v)};
  }

  std::vector<std::byte> k;
  std::vector<std::byte> v;
};

std::uint32_t code_at(const std::vector<std::byte>& pool, std::size_t element, std::size_t bytes) {
  std::uint32_t code = 0;
  std::memcpy(&code, pool.data() + element * bytes, bytes);
  return code;
}

// Every code of a pool, gaps included: the first that is wrong, in words, is added to `found`.
std::int64_t compare_pools(const char* name, const std::vector<std::byte>& seen,
                           const std::vector<std::byte>& expected, const KvTensorView& cache,
                           std::string& found) {
  const auto bytes = static_cast<std::size_t>(element_bytes(cache.type));
  const auto is_nan = [&cache](std::uint32_t code) {
    return std::isnan(reference::decode(code, cache.type));
  };
  std::int64_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < expected.size() / bytes; ++i) {
    const std::uint32_t wanted = code_at(expected, i, bytes);
    const std::uint32_t got = code_at(seen, i, bytes);
    // Which NaN one becomes that is converted is nobody's promise.
    if (got == wanted || (is_fp8(cache.type) && is_nan(wanted) && is_nan(got))) continue;
    if (wrong++ > 0) continue;
    const auto element = static_cast<std::int64_t>(i);
    first = fmt::format("element {} of block {}: seen {:#x}, expected {:#x}",
                        element % cache.block_stride, element / cache.block_stride, got, wanted);
  }
  if (wrong > 0)
    found += fmt::format("{} codes of the pool of {} are wrong, first {}\n", wrong, name, first);
  return static_cast<std::int64_t>(expected.size() / bytes);
}

LawVerdict check(const KvWriter& writer, const LawCase& law_case) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const std::vector<NewToken> tokens = new_tokens(law_case, inputs);
  const ElementType type = inputs.q.type;
  const std::vector<std::byte> new_k =
      new_rows(law_case.problem, tokens, &SequenceProblem::k, inputs.kv.k.head_dim);
  const std::vector<std::byte> new_v =
      new_rows(law_case.problem, tokens, &SequenceProblem::v, inputs.kv.v.head_dim);
  std::vector<std::int64_t> slots;
  for (const NewToken& token : tokens) slots.push_back(token.slot);
  Pools expected(inputs.kv);
  Pools seen(inputs.kv);
  KvWriteInputs write = {.k = rows_view(new_k, inputs.kv.k, type, std::ssize(tokens)),
                         .v = rows_view(new_v, inputs.kv.v, type, std::ssize(tokens)),
                         .slot_mapping = slots,
                         .kv = expected.over(inputs.kv)};
  RECTO_CHECK_EQ(check_contents(write), Status::ok());
  reference::write_kv(write);
  write.kv = seen.over(inputs.kv);
  LawVerdict verdict;
  verdict.skipped = writer.why_unsupported(write);
  if (verdict.skipped) return verdict;
  writer.write(write);
  std::string found;
  verdict.comparison.elements = compare_pools("K", seen.k, expected.k, inputs.kv.k, found) +
                                compare_pools("V", seen.v, expected.v, inputs.kv.v, found);
  if (!found.empty()) verdict.thrown = found + "against the reference's write";
  return verdict;
}

std::optional<std::string> why_no_token(const LawCase& law_case) {
  for (const SequenceProblem& sequence : law_case.problem.sequences)
    if (sequence.context_length > 0) return std::nullopt;
  return "no token to be written";
}

}  // namespace

Law kv_write_law(const KvWriter& writer) {
  return {.name = "kv_write",
          .statement = "tokens go to their slots, and not a byte of the pools changes otherwise",
          .why_not_applicable = why_no_token,
          .check = [writer](const Backend& backend, const LawCase& law_case, BoundKind) {
            if (backend.name == writer.backend) return check(writer, law_case);
            LawVerdict verdict;
            verdict.skipped = "it writes no K and V";
            return verdict;
          }};
}

}  // namespace recto::verify
