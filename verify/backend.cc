#include "verify/backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/fp32_state.h"
#include "reference/low_precision_attention.h"
#include "verify/decode_step_backend.h"

namespace recto::verify {
namespace {

std::int64_t longest_context(const PagedAttentionInputs& inputs) {
  std::int64_t longest = 0;
  for (const std::int32_t length : inputs.context_length)
    longest = std::max<std::int64_t>(longest, length);
  return longest;
}

std::optional<std::string> supports_all(const PagedAttentionInputs& /*inputs*/) {
  return std::nullopt;
}

// All keys of a row are one tile.
Backend naive_backend() {
  return {.name = "naive-fp64",
          .why_unsupported = supports_all,
          .run = reference::paged_attention,
          .numerics =
              [](const PagedAttentionInputs& inputs) {
                return reference::fp64_numerics(std::max<std::int64_t>(1, longest_context(inputs)));
              },
          .has_fixed_tiles = true,
          .has_independent_rows = true,
          .has_independent_sequences = true};
}

// A block is a tile.
Backend online_backend() {
  return {.name = "online-fp64",
          .why_unsupported = supports_all,
          .run = reference::paged_attention_over_blocks,
          .numerics =
              [](const PagedAttentionInputs& inputs) {
                return reference::fp64_numerics(inputs.kv.k.block_size);
              },
          .has_independent_rows = true,
          .has_independent_sequences = true,
          .state_merge = StateMerge{.merge = reference::merge, .type = StateType::kFp64}};
}

// The newest token's K and V come from outside the cache; then as naive_backend().
Backend decode_step_reference() {
  Backend backend =
      decode_step_backend("decode-step-fp64", reference::decode_step, naive_backend().numerics);
  backend.has_fixed_tiles = true;
  backend.has_independent_rows = true;
  backend.has_independent_sequences = true;
  return backend;
}

Backend low_precision_backend(ElementType q_type, const std::string& way,
                              const reference::LowPrecisionOptions& options) {
  return {.name = fmt::format("{}-{}", way, element_type_name(q_type)),
          .why_unsupported =
              [q_type](const PagedAttentionInputs& inputs) -> std::optional<std::string> {
            if (inputs.q.type == q_type) return std::nullopt;
            return fmt::format("q is not {}", element_type_name(q_type));
          },
          .run =
              [options](const PagedAttentionInputs& inputs) {
                return reference::low_precision_attention(inputs, options);
              },
          .numerics =
              [options](const PagedAttentionInputs& inputs) {
                return reference::low_precision_numerics(inputs, options);
              },
          .has_fixed_tiles = true,
          .has_independent_rows = true,
          .has_independent_sequences = true,
          .state_merge = StateMerge{.merge = reference::merge_in_fp32, .type = StateType::kFp32},
          .with_split_size =
              [q_type, way, options](std::int64_t split_size) {
                reference::LowPrecisionOptions split = options;
                split.split_size = split_size;
                return low_precision_backend(q_type, way, split);
              }};
}

}  // namespace

Backend as_placed(const Backend& backend, const Placement& placement) {
  if (!backend.with_out_gaps) return backend;
  const Backend apart = backend.with_out_gaps(
      {.rows = placement.row_padding + placement.gaps.out_rows, .heads = placement.gaps.out_heads});
  Backend placed = backend;  // with what its user has said of it
  placed.why_unsupported = apart.why_unsupported;
  placed.run = apart.run;
  placed.with_stale_memory = apart.with_stale_memory;
  return placed;
}

std::vector<Backend> reference_backends() {
  std::vector<Backend> backends = {naive_backend(), online_backend(), decode_step_reference()};
  for (const ElementType q_type : {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16})
    backends.push_back(low_precision_backend(q_type, "low-precision", {}));
  // As on tensor cores: 16 terms at once, truncated; few contexts are multiples of these tiles and
  // splits.
  const reference::LowPrecisionOptions split = {
      .tile_size = 24,
      .split_size = 96,
      .terms_per_step = 16,
      .rounding = reference::AccumulatorRounding::kTruncate,
      .summed_weights = reference::SummedWeights::kRounded};
  for (const ElementType q_type : {ElementType::kFp16, ElementType::kBf16})
    backends.push_back(low_precision_backend(q_type, "split-truncating", split));
  return backends;
}

}  // namespace recto::verify
