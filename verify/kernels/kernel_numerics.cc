#include "verify/kernels/kernel_numerics.h"

namespace recto::verify {
namespace {

// nvcc fuses products into sums (FMA). On the host, where the compiler may not contract
// (-ffp-contract=off), each product is rounded as well.
constexpr std::int64_t kProductRoundings = 1;

}  // namespace

reference::KernelNumerics decode_kernel_numerics(ElementType q_type, ElementType kv_type,
                                                 std::int64_t split_size) {
  reference::KernelNumerics numerics;
  // IEEE fp32 with subnormals: nvcc's defaults -ftz=false, -prec-div=true; x86-64's SSE.
  numerics.unit_roundoff = 0x1p-24;
  numerics.underflow = 0x1p-149;
  numerics.input_flush = 0.0;
  // All types are exact in fp32; q is not scaled before the product. dequantise_four rounds the
  // product of a code and its scale.
  numerics.kv_read = is_fp8(kv_type) ? 0x1p-24 : 0.0;
  numerics.query_read = 0.0;

  // product_of_key: four lanes with four sums each, added in a tree.
  numerics.score_sum = {.lanes = 16, .product_roundings = kProductRoundings};
  // ScoreRule: product * scale; cap * tanhf(score / cap); slope * distance, then the sum.
  numerics.score_roundings = 1;
  numerics.shared_scale = 0.0;
  numerics.softcap_roundings = 1;
  numerics.tanh_relative = 0x1p-22;  // tanhf: 2 ulp (CUDA C++ Programming Guide; glibc manual)
  numerics.bias_roundings = 1;

  // warp_pass: expf(score - maximum), within 2 ulp, also for subnormals (same sources).
  numerics.argument_roundings = 0;
  numerics.exponential = {.relative = 0x1p-22, .relative_slope = 0.0, .flush = 0x1p-148};
  // Weights stay in fp32.
  numerics.weight_type = {};
  numerics.summed_weights = reference::SummedWeights::kUnrounded;

  // A lane sums the weights of its own keys, one per tile; warp_sum adds the lanes in a tree.
  numerics.weight_sum = {.lanes = 32};
  // add_values: key after key.
  numerics.output_sum = {.product_roundings = kProductRoundings};
  // A warp passes over consecutive keys, 32 at a time; the states of four warps are merged one
  // after the other (decode_pass).
  numerics.tile_size = 32;
  numerics.tile_order = reference::TileOrder::kConsecutive;
  numerics.state_merges = 3;
  // split_merge adds states, one after the other, each relative to the largest maximum.
  numerics.split_size = split_size;
  numerics.split_merge = reference::SplitMerge::kState;

  // finish_row: o / l; m + logf(l), within 1 ulp (same sources).
  numerics.normalisation_roundings = 1;
  numerics.log_relative = 0x1p-23;
  numerics.log_absolute = 0.0;
  numerics.lse_ln_roundings = 1;
  numerics.output_type = q_type;
  return numerics;
}

reference::KernelNumerics gqa_decode_numerics(ElementType q_type, ElementType kv_type,
                                              std::int64_t split_size) {
  reference::KernelNumerics numerics = decode_kernel_numerics(q_type, kv_type, split_size);
  const bool has_tensor_cores = q_type != ElementType::kFp32;
  if (has_tensor_cores) {
    // mma.sync: eight terms at a time on sm_80, sixteen on later cards, aligned and truncated.
    numerics.score_sum = {.terms_per_step = 8,
                          .rounding = reference::AccumulatorRounding::kTruncate};
    numerics.output_sum = numerics.score_sum;
    numerics.weight_type = q_type;
    numerics.tile_size = 16;
  } else {
    // multiply_keys: four sums, each over every fourth dim.
    numerics.score_sum = {.lanes = 4, .product_roundings = kProductRoundings};
    numerics.tile_size = 8;
  }
  // weigh_scores: fast_exp2 of the FMA product * (scale * log2(e)) - maximum, within 2 ulp,
  // subnormals flushed (PTX ISA, ex2.approx.ftz). log2(e) and the constant are each rounded once.
  numerics.exponential = {.relative = 0x1p-22, .relative_slope = 0.0, .flush = 0x1p-126};
  numerics.shared_scale = 0x1p-23;
  // RowStates::close turns the maxima of warps into natural exponents: 1.05 roundings of each of
  // the two that a merge compares, and of the one in lse, which is added to the logarithm.
  numerics.argument_roundings = 2;
  numerics.lse_ln_roundings = 3;
  // Four lanes share a row's keys.
  numerics.weight_sum = {.lanes = 4};
  if (is_fp8(kv_type)) {
    // Codes are exact in fp16 and bf16; K's scale is multiplied into the scores' scale, V's into o.
    numerics.kv_read = 0.0;
    numerics.shared_scale += 0x1p-24;
    numerics.normalisation_roundings += 1;
  }
  return numerics;
}

reference::KernelNumerics in_planned_splits(reference::KernelNumerics numerics,
                                            const AttentionPlan& plan) {
  if (plan.split_rule == kernels::SplitRule::kEqualShares) {
    numerics.split_size = plan.split_size;
    numerics.max_splits = plan.num_splits;
  }
  return numerics;
}

reference::KernelNumerics prefill_numerics(ElementType q_type, ElementType kv_type,
                                           std::int64_t head_dim) {
  reference::KernelNumerics numerics = gqa_decode_numerics(q_type, kv_type, 0);
  // One pass over all keys in larger tiles, without states to merge; the sink is applied as a
  // factor, which adds one rounding. On Hopper cards tiles have 128 keys, which rounds less often.
  numerics.tile_size *= head_dim <= 128 ? 4 : 2;
  numerics.state_merges = 0;
  numerics.normalisation_roundings += 1;
  return numerics;
}

}  // namespace recto::verify
