#include "reference/numerics.h"

#include <algorithm>

#include "core/units.h"
#include "reference/rounding.h"

namespace recto::reference {

std::int64_t KernelNumerics::keys_per_split(std::int64_t n) const {
  if (split_size <= 0) return n;
  if (max_splits <= 0) return split_size;
  return std::max<std::int64_t>(1, ceil_div(n, split_size * max_splits)) * split_size;
}

KernelNumerics fp64_numerics(std::int64_t tile_size) {
  constexpr double kUnit = 0x1p-53;
  // glibc's exp, log and tanh are within 1, 1 and 2 units in the last place (glibc manual, "Known
  // Maximum Errors in Math Functions").
  constexpr double kUlp = 2 * kUnit;
  // Without FMA, the product of a term is rounded separately.
  constexpr Accumulation kSum{.unit_roundoff = kUnit, .product_roundings = 1};
  return {.unit_roundoff = kUnit,
          .underflow = 0x1p-1074,
          .score_sum = kSum,
          .tanh_relative = 2 * kUlp,
          .exponential = {.relative = kUlp, .flush = 0x1p-1074},
          .weight_sum = kSum,
          .output_sum = kSum,
          .tile_size = tile_size,
          .state_merges = 1,  // a tile's state is also rescaled if another one has the maximum
          .log_relative = kUlp,
          .log_absolute = 0};
}

void set_dequantisation(ElementType type, KernelNumerics& numerics) {
  numerics.kv_read = 0x1p-24;
  if (type == ElementType::kFp32) return;
  const double unit = unit_roundoff(type);
  numerics.kv_read += unit + unit * numerics.kv_read;
  numerics.kv_read_underflow = underflow_error(type);
}

KernelNumerics third_party_numerics(ElementType q_type, ElementType kv_type) {
  const bool has_tensor_cores = q_type != ElementType::kFp32;
  Accumulation products;
  if (has_tensor_cores) {
    // Products and the accumulator are aligned and truncated: four terms at a time on V100, 8 on
    // A100, 16 on H100 (Fasi et al. 2021, PeerJ Computer Science 7:e330; Khattak & Mikaitis 2025,
    // arXiv 2512.07004). Shorter steps truncate more often.
    products.terms_per_step = 4;
    products.rounding = AccumulatorRounding::kTruncate;
  }
  KernelNumerics numerics;
  numerics.underflow = 0x1p-126;  // -ftz=true, as with --use_fast_math
  numerics.input_flush = 0x1p-126;
  if (is_fp8(kv_type)) set_dequantisation(q_type, numerics);
  numerics.score_sum = products;
  numerics.score_roundings = 2;
  numerics.shared_scale = 0x1p-23;   // scale * log2(e), as one fp32 constant
  numerics.tanh_relative = 0x1p-10;  // tanh.approx.f32: 2^-11 (PTX ISA); twice that
  numerics.bias_roundings = 2;
  numerics.argument_roundings = 2;
  // __expf: 2 + floor(1.173 |x|) ulp (CUDA C++ Programming Guide, intrinsic functions).
  numerics.exponential = {
      .relative = 2 * 0x1p-23, .relative_slope = 1.173 * 0x1p-23, .flush = 0x1p-126};
  if (has_tensor_cores) numerics.weight_type = q_type;
  numerics.output_sum = products;
  numerics.tile_size = 16;
  numerics.tile_order = TileOrder::kUnknown;
  numerics.state_merges = 5;  // merges over the lanes of a warp
  numerics.split_merge = SplitMerge::kNormalised;
  // __logf: 2^-21.41 in [0.5, 2], 3 ulp elsewhere (the same table).
  numerics.log_relative = 3 * 0x1p-23;
  numerics.log_absolute = 0x1p-21;
  numerics.output_type = q_type;
  return numerics;
}

KernelNumerics with_declared(const DeclaredNumerics& declared, KernelNumerics profile) {
  const auto rounded_to = [](ElementType type) {
    return type == ElementType::kFp32 ? std::nullopt : std::optional(type);
  };
  if (declared.weights) profile.weight_type = rounded_to(*declared.weights);
  if (declared.products) profile.product_type = rounded_to(*declared.products);
  if (declared.partials) profile.partial_type = rounded_to(*declared.partials);
  if (declared.accumulate) {
    const Accumulation sum{.unit_roundoff = unit_roundoff(*declared.accumulate)};
    profile.score_sum = profile.output_sum = sum;
  }
  if (declared.summed) profile.summed_weights = *declared.summed;
  if (declared.exponential == DeclaredExponential::kExact)
    profile.exponential = {.relative = 0x1p-23, .flush = profile.exponential.flush};
  return profile;
}

}  // namespace recto::reference
