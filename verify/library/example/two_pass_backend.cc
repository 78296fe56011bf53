#include "verify/library/example/two_pass_backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace recto::verify {
namespace {

using reference::AttentionResult;

// One query row of one head.
struct RowOfHead {
  std::size_t sequence = 0;
  std::int64_t row = 0;  // within the call
  std::int64_t head = 0;
};

const float* token_of(const KvTensorView& view, const BlockTableView& table, std::size_t sequence,
                      std::int64_t token, std::int64_t kv_head) {
  const std::int64_t entry =
      static_cast<std::int64_t>(sequence) * table.row_stride + token / view.block_size;
  return static_cast<const float*>(view.data) + table.data[entry] * view.block_stride +
         token % view.block_size * view.slot_stride + kv_head * view.head_stride;
}

void attend(const PagedAttentionInputs& inputs, const RowOfHead& at, AttentionResult& result) {
  const AttentionOptions& options = inputs.options;
  const std::int64_t position =
      inputs.context_length[at.sequence] - inputs.query_start[at.sequence + 1] + at.row;
  const std::int64_t end = options.causal ? std::max<std::int64_t>(0, position + 1)
                                          : std::int64_t{inputs.context_length[at.sequence]};
  const std::int64_t begin =
      options.window && *options.window <= position ? position - *options.window + 1 : 0;
  const std::int64_t kv_head = at.head / (inputs.q.num_heads / inputs.kv.k.num_kv_heads);
  const float* q = static_cast<const float*>(inputs.q.data) + at.row * inputs.q.row_stride +
                   at.head * inputs.q.head_stride;

  float maximum = -std::numeric_limits<float>::infinity();
  std::vector<float> scores;
  for (std::int64_t key = begin; key < end; ++key) {
    const float* k = token_of(inputs.kv.k, inputs.block_table, at.sequence, key, kv_head);
    float product = 0;
    for (std::int64_t d = 0; d < inputs.q.head_dim; ++d) product = std::fma(q[d], k[d], product);
    scores.push_back(product * options.scale);
    maximum = std::max(maximum, scores.back());
  }

  float sum = 0;
  std::vector<float> out(static_cast<std::size_t>(inputs.kv.v.head_dim));
  for (std::int64_t key = begin; key < end; ++key) {
    const float* v = token_of(inputs.kv.v, inputs.block_table, at.sequence, key, kv_head);
    const float weight = std::exp(scores[static_cast<std::size_t>(key - begin)] - maximum);
    sum += weight;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] = std::fma(weight, v[d], out[d]);
  }
  result.lse_ln_at(at.row, at.head) = scores.empty() ? maximum : maximum + std::log(sum);
  for (std::size_t d = 0; d < out.size(); ++d)
    result.out_at(at.row, at.head, static_cast<std::int64_t>(d)) =
        scores.empty() ? 0.0F : out[d] / sum;
}

AttentionResult run(const PagedAttentionInputs& inputs) {
  AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  for (std::size_t s = 0; s < inputs.context_length.size(); ++s)
    for (std::int64_t row = inputs.query_start[s]; row < inputs.query_start[s + 1]; ++row)
      for (std::int64_t head = 0; head < inputs.q.num_heads; ++head)
        attend(inputs, {s, row, head}, result);
  return result;
}

std::optional<std::string> why_unsupported(const PagedAttentionInputs& inputs,
                                           const CallOptions& /*options*/) {
  if (inputs.q.type != ElementType::kFp32) return "q is not fp32";
  if (inputs.kv.k.layout == KvLayout::kPacked) return "the packed layout";
  if (inputs.options.softcap > 0) return "a soft cap";
  if (!inputs.options.alibi_slopes.empty()) return "ALiBi";
  if (!inputs.options.sinks.empty()) return "sinks";
  return std::nullopt;
}

// fp32 sums of fused multiply-adds, the defaults of KernelNumerics, with all keys in one tile.
reference::KernelNumerics numerics(const PagedAttentionInputs& inputs,
                                   const CallOptions& /*options*/) {
  reference::KernelNumerics numerics;
  for (const std::int32_t length : inputs.context_length)
    numerics.tile_size = std::max<std::int64_t>(numerics.tile_size, length);
  numerics.output_type = ElementType::kFp32;
  return numerics;
}

}  // namespace

Backend two_pass_backend() {
  return {.name = "two-pass",
          .capabilities = {.has_fixed_tiles = true,
                           .has_independent_rows = true,
                           .has_independent_sequences = true},
          .attend = always_done(run),
          .numerics_of = numerics,
          .refusal = why_unsupported};
}

}  // namespace recto::verify
