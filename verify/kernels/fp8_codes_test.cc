// Every 16-bit number converted to an fp8 code, and every fp8 code converted to a number: kernels
// and reference agree bit for bit (except which NaN a NaN becomes, which is unspecified).

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/kv_cache_ops.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/kernels/kernel_cache_ops.h"

namespace recto::verify {
namespace {

using reference::KvPool;
using reference::RowPool;

constexpr ElementType kFp8Types[] = {ElementType::kE4m3, ElementType::kE5m2};
constexpr ElementType kHalfTypes[] = {ElementType::kFp16, ElementType::kBf16};
// No scale, a power of two, and others: quotients near the largest code and below the smallest, and
// a number whose product with its reciprocal is not 1.
constexpr float kScales[] = {1.0F, 0.125F, 0.37F, 3.1e-5F, 1234.5F, 41.0F};

// Tokens of one head.
constexpr std::int64_t kTokens = 256;
constexpr std::int64_t kDims = 256;

KvPool pool_of(ElementType type) {
  return KvPool({.type = type, .num_blocks = kTokens / 16, .block_size = 16, .head_dim = kDims}, 1);
}

MutableKvTensorView scaled(KvPool& pool, const float& scale) {
  MutableKvTensorView view = pool.view();
  view.scale = {.kind = ScaleKind::kPerTensor, .data = &scale};
  return view;
}

void expect_same_codes(const KvPool& seen, const KvPool& expected) {
  const ElementType type = seen.shape().type;
  std::int64_t differences = 0;
  for (std::int64_t token = 0; token < kTokens; ++token) {
    for (std::int64_t dim = 0; dim < kDims; ++dim) {
      const std::int64_t place = seen.place(token / 16, 0, token % 16, dim);
      const std::uint32_t code = seen.code(place);
      const std::uint32_t other = expected.code(place);
      const bool are_nan =
          std::isnan(reference::decode(code, type)) && std::isnan(reference::decode(other, type));
      differences += code != other && !are_nan ? 1 : 0;
    }
  }
  CHECK(differences == 0);
}

// Writes code_of(i) as number i of K and of V, by the kernel and by the reference.
void compare_writes(ElementType source, const std::function<std::uint32_t(std::int64_t)>& code_of) {
  RowPool rows({.type = source, .num_rows = kTokens, .head_dim = kDims}, 1);
  std::vector<std::int64_t> slots;
  for (std::int64_t token = 0; token < kTokens; ++token) {
    for (std::int64_t dim = 0; dim < kDims; ++dim) {
      rows.set_code(token, 0, dim, code_of(token * kDims + dim));
    }
    slots.push_back(token);
  }
  for (const ElementType target : kFp8Types) {
    for (const float scale : kScales) {
      INFO(source << " into " << target << ", scale " << scale);
      KvPool seen = pool_of(target);
      KvPool expected = seen;
      // V goes to a pool that is not compared.
      KvPool values = seen;
      KvWriteInputs inputs = {
          .k = rows.const_view(), .v = rows.const_view(), .slot_mapping = slots};
      inputs.kv = {.k = scaled(expected, scale), .v = scaled(values, scale)};
      reference::write_kv(inputs);
      inputs.kv = {.k = scaled(seen, scale), .v = scaled(values, scale)};
      write_kv_by_kernel({}, inputs);
      expect_same_codes(seen, expected);
    }
  }
}

TEST_CASE("the write kernel encodes every 16-bit number as the reference does") {
  for (const ElementType source : kHalfTypes) {
    compare_writes(source, [](std::int64_t i) { return static_cast<std::uint32_t>(i); });
  }
}

TEST_CASE("the write kernel encodes 32-bit numbers as the reference does") {
  RandomStream stream = RandomStream(2026).split("fp8");
  // All bits, or few of them, which makes ties; around 1, or anywhere.
  compare_writes(ElementType::kFp32, [&stream](std::int64_t i) {
    auto bits = static_cast<std::uint32_t>(stream.next_u64());
    if (i % 2 == 0) bits &= 0xfff80000;
    if (i % 4 < 2) bits = (bits & 0x8fffffff) | 0x30000000;
    return bits;
  });
}

// One query row against one key for each sequence.
struct OneKeyEach {
  OneKeyEach(ElementType q_type, std::int64_t num_seqs, std::int64_t head_dim)
      : q({.type = q_type, .num_rows = num_seqs, .head_dim = head_dim}, 1) {
    for (std::int64_t seq = 0; seq < num_seqs; ++seq) {
      for (std::int64_t dim = 0; dim < head_dim; ++dim) q.set_code(seq, 0, dim, 0);
      table.push_back(static_cast<std::int32_t>(seq));
      context_length.push_back(1);
      query_start.push_back(static_cast<std::int32_t>(seq));
    }
    query_start.push_back(static_cast<std::int32_t>(num_seqs));
  }

  reference::AttentionResult attend(const PagedKvView& kv) {
    const auto num_seqs = std::ssize(table);
    return result_of(
        reference_decode_backend({}).call({.q = q.const_view(),
                                           .kv = kv,
                                           .block_table = {table.data(), num_seqs, 1, 1},
                                           .query_start = query_start,
                                           .context_length = context_length}));
  }

  RowPool q;
  std::vector<std::int32_t> table;
  std::vector<std::int32_t> context_length;
  std::vector<std::int32_t> query_start;
};

// A pool of one head, in blocks of one slot, whose codes are all 0.
KvPool zeros(ElementType type, std::int64_t num_blocks, std::int64_t head_dim) {
  KvPool pool({.type = type, .num_blocks = num_blocks, .head_dim = head_dim}, 1);
  for (std::int64_t block = 0; block < num_blocks; ++block) {
    for (std::int64_t dim = 0; dim < head_dim; ++dim)
      pool.set_code(pool.place(block, 0, 0, dim), 0);
  }
  return pool;
}

float value_of(std::uint32_t code, float scale, ElementType type) {
  return static_cast<float>(reference::decode(code, type)) * scale;
}

TEST_CASE("the output of one key is its value, the code times the scale, rounded") {
  for (const ElementType type : kFp8Types) {
    for (const ElementType q_type : kHalfTypes) {
      for (const float scale : kScales) {
        INFO(type << " for " << q_type << ", scale " << scale);
        OneKeyEach one(q_type, 1, 16);
        KvPool k = zeros(type, 1, 16);
        KvPool v = zeros(type, 1, 256);
        for (std::uint32_t code = 0; code < 256; ++code) v.set_code(v.place(0, 0, 0, code), code);
        const auto result = one.attend({.k = k.const_view(), .v = as_const(scaled(v, scale))});
        for (std::uint32_t code = 0; code < 256; ++code) {
          const double expected = reference::round_to(value_of(code, scale, type), q_type);
          const double seen = result.out[code];
          INFO("code " << code << ": " << seen << ", not " << expected);
          // A sum that begins at 0 is never -0.
          CHECK((std::isnan(expected) ? std::isnan(seen) : seen == expected));
        }
      }
    }
  }
}

TEST_CASE("the log-sum-exp of one key is its score, with a key of codes times the scale") {
  for (const ElementType type : kFp8Types) {
    for (const float scale : kScales) {
      INFO(type << ", scale " << scale);
      OneKeyEach one(ElementType::kBf16, 256, 16);
      KvPool k = zeros(type, 256, 16);
      KvPool v = zeros(type, 256, 16);
      for (std::uint32_t code = 0; code < 256; ++code) {
        one.q.set_code(code, 0, 5, reference::encode(1.0, ElementType::kBf16));
        k.set_code(k.place(code, 0, 0, 5), code);
      }
      const auto result = one.attend({.k = as_const(scaled(k, scale)), .v = v.const_view()});
      for (std::uint32_t code = 0; code < 256; ++code) {
        const float expected = value_of(code, scale, type);
        if (!std::isfinite(expected)) continue;
        CHECK(result.lse_ln[code] == static_cast<double>(expected));
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
