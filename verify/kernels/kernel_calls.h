#pragma once

// Calls of the kernels of cuda/kernels on the executor. They do not depend on the reference, so
// that programs with them build quickly in every mode.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "cuda/kernels/group_scores.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// Results; initially they hold `stale`, as if left by an earlier call.
struct DecodeResults {
  explicit DecodeResults(const PagedAttentionInputs& inputs, std::uint32_t stale = kStaleNaN);

  std::vector<std::byte> out;  // [num_rows, num_heads, v.head_dim], of q's type
  std::vector<float> lse_ln;   // [num_rows, num_heads]
  std::uint32_t stale;         // also in workspaces
};

// Why the decode kernels do not support these inputs, or nothing.
std::optional<std::string> why_not_decoded(const PagedAttentionInputs& inputs);

// The inputs must have passed core/attention_gate.h and why_not_decoded().
void call_reference_decode(simt::Executor& executor, const ObserverMaker& observer,
                           const PagedAttentionInputs& inputs, DecodeResults& results);
void call_split_decode(simt::Executor& executor, const ObserverMaker& observer,
                       const PagedAttentionInputs& inputs, std::int64_t split_size,
                       DecodeResults& results);

// Scores; NaN until they are written.
struct ScoreResults {
  explicit ScoreResults(const PagedAttentionInputs& inputs);

  std::int64_t num_heads = 0;
  std::int64_t max_context_length = 0;  // of these inputs
  std::vector<float> scores;            // [num_seqs, num_heads, max_context_length]

  float at(std::int64_t sequence, std::int64_t head, std::int64_t position) const;
};

// Why launch_group_scores does not support these inputs, or nothing. It supports `scale` and no
// other option.
std::optional<std::string> why_not_scored(const PagedAttentionInputs& inputs);

// The kernel, or a substitute for it.
using ScoreLaunch = Status (*)(const kernels::GroupScoresParams& params, KernelStream stream);

// Like the calls above, but requires why_not_scored().
void call_group_scores(simt::Executor& executor, const ObserverMaker& observer, ScoreLaunch launch,
                       const PagedAttentionInputs& inputs, ScoreResults& results);
// Why the GQA decode kernel does not support these inputs, or nothing.
std::optional<std::string> why_not_gqa_decoded(const PagedAttentionInputs& inputs);
void call_gqa_decode(simt::Executor& executor, const ObserverMaker& observer,
                     const PagedAttentionInputs& inputs, std::int64_t split_size,
                     DecodeResults& results);

// As above, for the TMA decode kernel, which fetches whole blocks.
std::optional<std::string> why_not_tma_decoded(const PagedAttentionInputs& inputs);
void call_tma_decode(simt::Executor& executor, const ObserverMaker& observer,
                     const PagedAttentionInputs& inputs, std::int64_t split_size,
                     DecodeResults& results);

// Why the prefill kernel does not support these inputs, or nothing.
std::optional<std::string> why_not_prefilled(const PagedAttentionInputs& inputs);
void call_paged_prefill(simt::Executor& executor, const ObserverMaker& observer,
                        const PagedAttentionInputs& inputs, DecodeResults& results);

}  // namespace recto::verify
