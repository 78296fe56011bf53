// Compares a decode step and its bounds with attention over the cache after the newest token has
// been written: bit-identical if the cache stores that token exactly.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_gate.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "reference/kv_cache_ops.h"
#include "reference/low_precision_attention.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"

namespace recto::reference {
namespace {

constexpr std::int64_t kSeqs = 3;
constexpr std::int64_t kKvHeads = 2;
constexpr std::int64_t kHeadDimK = 6;
constexpr std::int64_t kHeadDimV = 5;
constexpr std::int64_t kBlockSize = 4;
constexpr std::int64_t kBlocks = 6;

// Whether the cache stores the newest token's K and V exactly.
enum class NewTokens { kExactInCache, kInexactInCache };

TestPoolShape pool_shape(ElementType type, std::int64_t head_dim, KvLayout layout) {
  return {.layout = layout,
          .type = type,
          .num_blocks = kBlocks,
          .block_size = kBlockSize,
          .num_kv_heads = kKvHeads,
          .head_dim = head_dim,
          .padding = 1};
}

RowPoolShape rows_shape(ElementType type, std::int64_t num_heads, std::int64_t head_dim) {
  return {.type = type, .num_rows = kSeqs, .num_heads = num_heads, .head_dim = head_dim};
}

// Three sequences: nothing cached, a partly filled block, a full block.
struct DecodeCase {
  DecodeCase(ElementType q_type, ElementType kv_type,
             NewTokens new_tokens = NewTokens::kExactInCache)
      : k(pool_shape(kv_type, kHeadDimK, KvLayout::kHeadMajor), 1),
        v(pool_shape(kv_type, kHeadDimV, KvLayout::kHeadMajor), 2),
        q(rows_shape(q_type, 2 * kKvHeads, kHeadDimK), 3),
        new_k(rows_shape(q_type, kKvHeads, kHeadDimK), 4),
        new_v(rows_shape(q_type, kKvHeads, kHeadDimV), 5) {
    RandomStream stream(6);
    fill(k, stream);
    fill(v, stream);
    fill(q, q_type, std::vector<float>(2 * kKvHeads, 1.0F), stream);
    const ElementType drawn = new_tokens == NewTokens::kExactInCache ? kv_type : q_type;
    fill(new_k, drawn, k_scales, stream);
    fill(new_v, drawn, v_scales, stream);
    step = {
        .q = q.const_view(),
        .new_k = new_k.const_view(),
        .new_v = new_v.const_view(),
        .kv = {.k = k.const_view(), .v = v.const_view()},
        .block_table = {.data = table.data(), .num_seqs = kSeqs, .max_blocks = 3, .row_stride = 3},
        .cached_length = cached};
    if (is_fp8(kv_type)) {
      step.kv.k.scale = {.kind = ScaleKind::kPerKvHead, .data = k_scales.data()};
      step.kv.v.scale = {.kind = ScaleKind::kPerKvHead, .data = v_scales.data()};
    }
    step.options.scale = 0.75F;
  }
  DecodeCase(const DecodeCase&) = delete;
  DecodeCase& operator=(const DecodeCase&) = delete;

  static void fill(KvPool& pool, RandomStream& stream) {
    const TestPoolShape& shape = pool.shape();
    for (std::int64_t block = 0; block < shape.num_blocks; ++block)
      for (std::int64_t head = 0; head < shape.num_kv_heads; ++head)
        for (std::int64_t slot = 0; slot < shape.block_size; ++slot)
          for (std::int64_t dim = 0; dim < shape.head_dim; ++dim)
            pool.set_code(pool.place(block, head, slot, dim),
                          encode(4 * stream.next_unit() - 2, shape.type));
  }

  // Fills rows with numbers of type `drawn` times each head's scale.
  static void fill(RowPool& rows, ElementType drawn, const std::vector<float>& scales,
                   RandomStream& stream) {
    const RowPoolShape& shape = rows.shape();
    for (std::int64_t row = 0; row < shape.num_rows; ++row)
      for (std::int64_t head = 0; head < shape.num_heads; ++head)
        for (std::int64_t dim = 0; dim < shape.head_dim; ++dim) {
          const double code_value = round_to(4 * stream.next_unit() - 2, drawn);
          const double scale = is_fp8(drawn) ? scales[static_cast<std::size_t>(head)] : 1.0;
          rows.set_code(row, head, dim, encode(code_value * scale, shape.type));
        }
  }

  // Call this after all options of `step` are set.
  PagedAttentionInputs after_the_write() {
    KvWriteInputs write{.k = step.new_k,
                        .v = step.new_v,
                        .slot_mapping = slots,
                        .kv = {.k = k.view(), .v = v.view()}};
    write.kv.k.scale = step.kv.k.scale;
    write.kv.v.scale = step.kv.v.scale;
    write_kv(write);
    return {.q = step.q,
            .kv = step.kv,
            .block_table = step.block_table,
            .query_start = query_start,
            .context_length = context,
            .options = step.options};
  }

  KvPool k;
  KvPool v;
  RowPool q;
  RowPool new_k;
  RowPool new_v;
  // Products of numbers with few digits are exact in 16 bits; scales in production are arbitrary.
  std::vector<float> k_scales = {1.5F, 0.25F};
  std::vector<float> v_scales = {0.5F, 3.0F};
  std::array<std::int32_t, 9> table = {4, -1, -1, 2, 0, -1, 5, 1, -1};
  std::array<std::int32_t, kSeqs> cached = {0, 6, 4};
  std::array<std::int64_t, kSeqs> slots = {16, 2, 4};  // block * block size + offset
  std::array<std::int32_t, kSeqs> context = {1, 7, 5};
  std::array<std::int32_t, kSeqs + 1> query_start = {0, 1, 2, 3};
  std::array<float, 4> slopes = {0.5F, 0.0F, -0.25F, 1.0F};
  std::array<float, 4> sinks = {1.0F, -INFINITY, -2.0F, 0.5F};
  DecodeStepInputs step;
};

bool same_numbers(const AttentionResult& a, const AttentionResult& b) {
  return a.out == b.out && a.lse_ln == b.lse_ln;
}

constexpr std::array<ElementType, 2> kTypes[] = {{ElementType::kFp32, ElementType::kFp32},
                                                 {ElementType::kBf16, ElementType::kBf16},
                                                 {ElementType::kFp16, ElementType::kE4m3},
                                                 {ElementType::kBf16, ElementType::kE5m2}};

void expect_equal_after_the_write(DecodeCase& decode) {
  CHECK(check_contents(decode.step) == Status::ok());
  const ElementType type = decode.step.q.type;
  const KernelNumerics numerics[] = {fp64_numerics(4),
                                     third_party_numerics(type, decode.step.kv.k.type)};
  std::vector<BoundedResult> before;
  for (const KernelNumerics& kernel : numerics) {
    before.push_back(bounded_decode_step(decode.step, kernel));
    CHECK(same_numbers(before.back().exact, decode_step(decode.step)));
  }
  const PagedAttentionInputs written = decode.after_the_write();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const BoundedResult after = bounded_attention(written, numerics[i]);
    CHECK(same_numbers(before[i].exact, after.exact));
    CHECK(same_numbers(before[i].worst_case, after.worst_case));
    CHECK(same_numbers(before[i].probabilistic, after.probabilistic));
  }
}

TEST_CASE("a decode step is attention over the cache once the newest token is in it") {
  for (const auto& [q_type, kv_type] : kTypes) {
    INFO(q_type << " / " << kv_type);
    DecodeCase plain(q_type, kv_type);
    expect_equal_after_the_write(plain);
    DecodeCase with_options(q_type, kv_type);
    with_options.step.options = {.scale = 0.5F,
                                 .softcap = 3.0F,
                                 .causal = true,
                                 .window = 5,
                                 .alibi_slopes = with_options.slopes,
                                 .sinks = with_options.sinks};
    expect_equal_after_the_write(with_options);
    DecodeCase not_causal(q_type, kv_type);
    not_causal.step.options.causal = false;
    expect_equal_after_the_write(not_causal);
  }
}

TEST_CASE(
    "a decode step reads the newest token as it was passed, not as an fp8 cache would hold it") {
  DecodeCase decode(ElementType::kFp16, ElementType::kE4m3, NewTokens::kInexactInCache);
  const KernelNumerics kernel = fp64_numerics(4);
  const BoundedResult before = bounded_decode_step(decode.step, kernel);
  CHECK(same_numbers(before.exact, decode_step(decode.step)));
  const BoundedResult after = bounded_attention(decode.after_the_write(), kernel);
  for (std::size_t i = 0; i < before.exact.out.size(); ++i) {
    CHECK(before.exact.out[i] != after.exact.out[i]);
  }
}

TEST_CASE("a run in low precision is within a decode step's bounds, and uses part of them") {
  for (const auto& [q_type, kv_type] : kTypes) {
    INFO(q_type << " / " << kv_type);
    DecodeCase decode(q_type, kv_type);
    decode.step.options.sinks = decode.sinks;
    const LowPrecisionOptions how{.tile_size = 4, .split_size = 3};
    const DecodeStepInputs step = decode.step;
    const PagedAttentionInputs written = decode.after_the_write();
    const BoundedResult oracle = bounded_decode_step(step, low_precision_numerics(written, how));
    const AttentionResult seen = low_precision_attention(written, how);
    double worst = 0;
    for (std::size_t i = 0; i < seen.out.size(); ++i) {
      const double error = std::abs(seen.out[i] - oracle.exact.out[i]);
      CHECK(error <= oracle.probabilistic.out[i]);
      worst = std::max(worst, error / oracle.probabilistic.out[i]);
    }
    CHECK(worst > 0.01);
  }
}

}  // namespace
}  // namespace recto::reference
