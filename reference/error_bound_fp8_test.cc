// Kernels that dequantise an fp8 cache to q's type before the products are right, so the
// third-party profile must cover them.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "reference/low_precision_attention.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kKeys = 96;
constexpr std::pair<ElementType, ElementType> kTypes[] = {{ElementType::kFp16, ElementType::kE4m3},
                                                          {ElementType::kFp16, ElementType::kE5m2},
                                                          {ElementType::kBf16, ElementType::kE4m3},
                                                          {ElementType::kBf16, ElementType::kE5m2}};

// One decode row, one head, one block; all elements come from `draw`, and both tensors share a
// scale.
class Fp8Problem {
 public:
  Fp8Problem(ElementType q_type, ElementType kv_type, float scale,
             const std::function<double()>& draw)
      : scale_(scale),
        q_(codes(q_type, kHeadDim, draw)),
        k_(codes(kv_type, kKeys * kHeadDim, draw)),
        v_(codes(kv_type, kKeys * kHeadDim, draw)) {
    inputs_.q = {.data = q_.data(),
                 .type = q_type,
                 .num_rows = 1,
                 .num_heads = 1,
                 .head_dim = kHeadDim,
                 .row_stride = kHeadDim,
                 .head_stride = kHeadDim};
    inputs_.kv = {tensor(k_, kv_type), tensor(v_, kv_type)};
    inputs_.block_table = {.data = &block_, .num_seqs = 1, .max_blocks = 1, .row_stride = 1};
    inputs_.query_start = query_start_;
    inputs_.context_length = {&context_length_, 1};
    inputs_.options.scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));
  }
  Fp8Problem(const Fp8Problem&) = delete;
  Fp8Problem& operator=(const Fp8Problem&) = delete;

  const PagedAttentionInputs& inputs() const { return inputs_; }

 private:
  static std::vector<std::byte> codes(ElementType type, std::int64_t count,
                                      const std::function<double()>& draw) {
    std::vector<std::byte> memory(static_cast<std::size_t>(count * element_bytes(type)));
    for (auto place = memory.begin(); place != memory.end(); place += element_bytes(type)) {
      const std::uint32_t code = encode(draw(), type);
      std::memcpy(&*place, &code, static_cast<std::size_t>(element_bytes(type)));
    }
    return memory;
  }

  KvTensorView tensor(const std::vector<std::byte>& memory, ElementType type) const {
    return {.data = memory.data(),
            .type = type,
            .layout = KvLayout::kTokenMajor,
            .num_blocks = 1,
            .block_size = kKeys,
            .num_kv_heads = 1,
            .head_dim = kHeadDim,
            .block_stride = kKeys * kHeadDim,
            .head_stride = kHeadDim,
            .slot_stride = kHeadDim,
            .scale = {.kind = ScaleKind::kPerTensor, .data = &scale_}};
  }

  float scale_;
  std::vector<std::byte> q_;
  std::vector<std::byte> k_;
  std::vector<std::byte> v_;
  std::int32_t block_ = 0;
  std::int32_t query_start_[2] = {0, 1};
  std::int32_t context_length_ = kKeys;
  PagedAttentionInputs inputs_;
};

// Computes as tensor cores do on values dequantised to q's type.
AttentionResult run(const PagedAttentionInputs& inputs) {
  return low_precision_attention(inputs, {.terms_per_step = 16,
                                          .rounding = AccumulatorRounding::kTruncate,
                                          .dequantised = Dequantised::kQueryType});
}

TEST_CASE("the profile's bounds hold if every element is rounded in the same direction") {
  for (const auto& [q_type, kv_type] : kTypes) {
    INFO(q_type << ", " << kv_type);
    // Codes of 1 times a scale next to the midpoint of two numbers of q's type.
    const double unit = unit_roundoff(q_type);
    const Fp8Problem problem(q_type, kv_type, static_cast<float>(1 + unit * (1 - 0x1p-10)),
                             [] { return 1.0; });
    const AttentionResult seen = run(problem.inputs());
    const KernelNumerics profile = third_party_numerics(q_type, kv_type);
    const BoundedResult oracle = bounded_attention(problem.inputs(), profile);
    const double lse_ln_error = std::abs(seen.lse_ln[0] - oracle.exact.lse_ln[0]);
    CHECK(lse_ln_error <= oracle.worst_case.lse_ln[0]);
    CHECK(lse_ln_error <= oracle.probabilistic.lse_ln[0]);
    CHECK(std::abs(seen.out[0] - oracle.exact.out[0]) <= oracle.worst_case.out[0]);
    // If the products of codes and scales were rounded only to fp32, this error would be a defect.
    KernelNumerics in_fp32 = profile;
    set_dequantisation(ElementType::kFp32, in_fp32);
    in_fp32.kv_read_underflow = 0;
    CHECK(lse_ln_error > 2 * bounded_attention(problem.inputs(), in_fp32).worst_case.lse_ln[0]);
  }
}

TEST_CASE("the profile's bounds hold if scales make codes subnormal in q's type") {
  // Almost 4.5 times fp16's smallest subnormal; rounding drops the fraction from each element.
  const Fp8Problem problem(ElementType::kFp16, ElementType::kE4m3, 0x1.1ffp-22F,
                           [] { return 1.0; });
  PagedAttentionInputs inputs = problem.inputs();
  inputs.options.scale = 0x1p18F;
  const AttentionResult seen = run(inputs);
  KernelNumerics profile = third_party_numerics(ElementType::kFp16, ElementType::kE4m3);
  const BoundedResult oracle = bounded_attention(inputs, profile);
  profile.kv_read_underflow = 0;
  const BoundedResult without = bounded_attention(inputs, profile);
  const double lse_ln_error = std::abs(seen.lse_ln[0] - oracle.exact.lse_ln[0]);
  CHECK(lse_ln_error <= oracle.worst_case.lse_ln[0]);
  CHECK(lse_ln_error > without.worst_case.lse_ln[0]);
}

TEST_CASE("random caches that are dequantised to q's type lie within both bounds") {
  std::int64_t elements = 0;
  for (const auto& [q_type, kv_type] : kTypes) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      RandomStream stream(seed);
      const auto scale = static_cast<float>(std::exp2(4 * stream.next_unit() - 2));
      const Fp8Problem problem(q_type, kv_type, scale,
                               [&stream] { return 4 * stream.next_unit() - 2; });
      const AttentionResult seen = run(problem.inputs());
      const BoundedResult oracle =
          bounded_attention(problem.inputs(), third_party_numerics(q_type, kv_type));
      for (std::size_t i = 0; i < seen.out.size(); ++i, ++elements) {
        CHECK(std::abs(seen.out[i] - oracle.exact.out[i]) <= oracle.probabilistic.out[i]);
      }
      CHECK(std::abs(seen.lse_ln[0] - oracle.exact.lse_ln[0]) <= oracle.probabilistic.lse_ln[0]);
    }
  }
  CHECK(elements == 4 * 50 * kHeadDim);
}

}  // namespace
}  // namespace recto::reference
