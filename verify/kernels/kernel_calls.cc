#include "verify/kernels/kernel_calls.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "core/attention_gate.h"
#include "core/contract.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/reference_decode.h"
#include "cuda/kernels/split_decode.h"
#include "cuda/kernels/tma_decode.h"

namespace recto::verify {
namespace {

using kernels::GroupScoresParams;
using kernels::ReferenceDecodeParams;
using kernels::SplitDecodeParams;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::int64_t longest_context(const PagedAttentionInputs& inputs) {
  std::int64_t longest = 0;
  for (const std::int32_t length : inputs.context_length) {
    longest = std::max<std::int64_t>(longest, length);
  }
  return longest;
}

// All parameters except the results' addresses.
ReferenceDecodeParams params_of(const PagedAttentionInputs& inputs) {
  return {.q = inputs.q,
          .kv = inputs.kv,
          .block_table = inputs.block_table,
          .context_length = inputs.context_length.data(),
          .options = inputs.options,
          .out = dense_rows<void*>(nullptr, inputs.q.type, inputs.q.num_rows, inputs.q.num_heads,
                                   inputs.kv.v.head_dim)};
}

// Checks that inputs passed the gates before any kernel is called with them.
ReferenceDecodeParams params_into(const PagedAttentionInputs& inputs, DecodeResults& results) {
  ReferenceDecodeParams params = params_of(inputs);
  params.out.data = results.out.data();
  params.lse_ln = results.lse_ln.data();
  RECTO_CHECK_EQ(check_contents(inputs, {.out = params.out, .lse_ln = results.lse_ln}),
                 Status::ok());
  return params;
}

void add_inputs(DeviceCall& call, const PagedAttentionInputs& inputs, BlockOwners owners) {
  call.add_read("q", inputs.q);
  call.add_contexts(inputs.kv, inputs.block_table, inputs.context_length, std::move(owners));
  call.add_read("alibi_slopes", inputs.options.alibi_slopes);
  call.add_read("sinks", inputs.options.sinks);
}

void add_results(DeviceCall& call, const MutableRowsView& out, DecodeResults& results) {
  call.add_write("out", out);
  call.add_write("lse_ln", std::span(results.lse_ln));
}

// All parameters except the scores' address.
GroupScoresParams score_params_of(const PagedAttentionInputs& inputs) {
  return {.q = inputs.q,
          .k = inputs.kv.k,
          .block_table = inputs.block_table,
          .context_length = inputs.context_length.data(),
          .max_context_length = longest_context(inputs),
          .scale = inputs.options.scale};
}

std::optional<std::string> refusal_of(const Status& status) {
  return status.is_ok() ? std::nullopt : std::optional(status.message());
}

std::optional<std::string> why_not_one_row_each(const PagedAttentionInputs& inputs) {
  for (std::size_t sequence = 0; sequence + 1 < inputs.query_start.size(); ++sequence) {
    if (inputs.query_start[sequence + 1] - inputs.query_start[sequence] != 1) {
      return "not exactly one query row per sequence";
    }
  }
  return std::nullopt;
}

// Where kernels run, and the observer.
struct Machine {
  simt::Executor& executor;
  const ObserverMaker& observer;
};

using SplitLaunch = std::function<Status(const SplitDecodeParams& params, simt::Stream& stream)>;

// Provides the partial states that splits pass to their merge.
void call_in_splits(const Machine& machine, const PagedAttentionInputs& inputs,
                    std::int64_t split_size, DecodeResults& results, const SplitLaunch& launch) {
  SplitDecodeParams params{.decode = params_into(inputs, results), .split_size = split_size};
  params.num_splits = kernels::num_splits(longest_context(inputs), split_size);
  const std::int64_t num_states = inputs.q.num_rows * inputs.q.num_heads * params.num_splits;
  const auto stale = std::bit_cast<float>(results.stale);
  std::vector<float> maximum(static_cast<std::size_t>(num_states), stale);
  std::vector<float> sum(static_cast<std::size_t>(num_states), stale);
  std::vector<float> weighted(static_cast<std::size_t>(num_states * inputs.kv.v.head_dim), stale);
  params.states = {maximum.data(), sum.data(), weighted.data()};
  DeviceCall call(machine.executor);
  add_inputs(call, inputs, owners_in_turn(num_states, inputs.q.num_rows));
  add_results(call, params.decode.out, results);
  call.add_write("states.maximum", std::span(maximum));
  call.add_write("states.sum", std::span(sum));
  call.add_write("states.weighted", std::span(weighted));
  call.run(machine.observer, [&](simt::Stream& stream) { return launch(params, stream); });
}

// For kernels that write the results themselves if there is only one split.
SplitLaunch merged_after(Status (*launch)(const SplitDecodeParams& params, KernelStream stream)) {
  return [launch](const SplitDecodeParams& params, simt::Stream& stream) -> Status {
    const Status status = launch(params, &stream);
    if (!status.is_ok() || params.num_splits == 1) return status;
    return kernels::launch_split_merge(params, &stream);
  };
}

std::optional<std::string> why_not_in_groups(const PagedAttentionInputs& inputs,
                                             Status (*check)(const SplitDecodeParams& params)) {
  if (std::optional<std::string> why = why_not_one_row_each(inputs)) return why;
  return refusal_of(check({.decode = params_of(inputs)}));
}

kernels::PagedPrefillParams prefill_params_of(const PagedAttentionInputs& inputs) {
  const ReferenceDecodeParams decode = params_of(inputs);
  kernels::PagedPrefillParams params = {.q = decode.q,
                                        .kv = decode.kv,
                                        .block_table = decode.block_table,
                                        .query_start = inputs.query_start.data(),
                                        .context_length = decode.context_length,
                                        .options = decode.options,
                                        .out = decode.out};
  for (std::size_t sequence = 0; sequence + 1 < inputs.query_start.size(); ++sequence) {
    const std::int64_t queries = inputs.query_start[sequence + 1] - inputs.query_start[sequence];
    params.max_query_length = std::max(params.max_query_length, queries);
  }
  return params;
}

}  // namespace

DecodeResults::DecodeResults(const PagedAttentionInputs& inputs, std::uint32_t stale)
    : out(static_cast<std::size_t>(inputs.q.num_rows * inputs.q.num_heads * inputs.kv.v.head_dim *
                                   element_bytes(inputs.q.type))),
      lse_ln(static_cast<std::size_t>(inputs.q.num_rows * inputs.q.num_heads),
             std::bit_cast<float>(stale)),
      stale(stale) {
  fill_with(out, stale);
}

std::optional<std::string> why_not_decoded(const PagedAttentionInputs& inputs) {
  if (const auto why = why_not_one_row_each(inputs)) return why;
  return refusal_of(kernels::check_served(params_of(inputs)));
}

void call_reference_decode(simt::Executor& executor, const ObserverMaker& observer,
                           const PagedAttentionInputs& inputs, DecodeResults& results) {
  const ReferenceDecodeParams params = params_into(inputs, results);
  DeviceCall call(executor);
  add_inputs(call, inputs,
             owners_in_turn(inputs.q.num_rows * inputs.q.num_heads, inputs.q.num_rows));
  add_results(call, params.out, results);
  call.run(observer, [&params](simt::Stream& stream) {
    return kernels::launch_reference_decode(params, &stream);
  });
}

void call_split_decode(simt::Executor& executor, const ObserverMaker& observer,
                       const PagedAttentionInputs& inputs, std::int64_t split_size,
                       DecodeResults& results) {
  call_in_splits({executor, observer}, inputs, split_size, results,
                 [](const SplitDecodeParams& params, simt::Stream& stream) -> Status {
                   RECTO_RETURN_IF_ERROR(kernels::launch_split_decode(params, &stream));
                   return kernels::launch_split_merge(params, &stream);
                 });
}

std::optional<std::string> why_not_gqa_decoded(const PagedAttentionInputs& inputs) {
  return why_not_in_groups(inputs, &kernels::check_group_served);
}

void call_gqa_decode(simt::Executor& executor, const ObserverMaker& observer,
                     const PagedAttentionInputs& inputs, std::int64_t split_size,
                     DecodeResults& results) {
  call_in_splits({executor, observer}, inputs, split_size, results,
                 merged_after(&kernels::launch_gqa_decode));
}

std::optional<std::string> why_not_tma_decoded(const PagedAttentionInputs& inputs) {
  return why_not_in_groups(inputs, &kernels::check_tma_served);
}

void call_tma_decode(simt::Executor& executor, const ObserverMaker& observer,
                     const PagedAttentionInputs& inputs, std::int64_t split_size,
                     DecodeResults& results) {
  call_in_splits({executor, observer}, inputs, split_size, results,
                 merged_after(&kernels::launch_tma_decode));
}

std::optional<std::string> why_not_prefilled(const PagedAttentionInputs& inputs) {
  return refusal_of(kernels::check_prefill(prefill_params_of(inputs)));
}

void call_paged_prefill(simt::Executor& executor, const ObserverMaker& observer,
                        const PagedAttentionInputs& inputs, DecodeResults& results) {
  kernels::PagedPrefillParams params = prefill_params_of(inputs);
  const ReferenceDecodeParams decode = params_into(inputs, results);
  params.out = decode.out;
  params.lse_ln = decode.lse_ln;
  DeviceCall call(executor);
  add_inputs(call, inputs,
             owners_in_runs(kernels::prefill_blocks_per_sequence(params),
                            std::ssize(inputs.context_length)));
  call.add_read("query_start", inputs.query_start);
  add_results(call, params.out, results);
  call.run(observer, [&params](simt::Stream& stream) {
    return kernels::launch_paged_prefill(params, &stream);
  });
}

ScoreResults::ScoreResults(const PagedAttentionInputs& inputs)
    : num_heads(inputs.q.num_heads),
      max_context_length(longest_context(inputs)),
      scores(static_cast<std::size_t>(inputs.q.num_rows * num_heads * max_context_length), kNaN) {}

float ScoreResults::at(std::int64_t sequence, std::int64_t head, std::int64_t position) const {
  return scores[static_cast<std::size_t>((sequence * num_heads + head) * max_context_length +
                                         position)];
}

std::optional<std::string> why_not_scored(const PagedAttentionInputs& inputs) {
  if (const auto why = why_not_one_row_each(inputs)) return why;
  return refusal_of(kernels::check_served(score_params_of(inputs)));
}

void call_group_scores(simt::Executor& executor, const ObserverMaker& observer, ScoreLaunch launch,
                       const PagedAttentionInputs& inputs, ScoreResults& results) {
  GroupScoresParams params = score_params_of(inputs);
  params.scores = results.scores.data();
  DeviceCall call(executor);
  call.add_read("q", inputs.q);
  // V must not be read.
  call.add_contexts(
      {.k = inputs.kv.k}, inputs.block_table, inputs.context_length,
      owners_in_turn(inputs.q.num_rows * inputs.kv.k.num_kv_heads, inputs.q.num_rows));
  call.add_write("scores", std::span(results.scores));
  call.run(observer, [&](simt::Stream& stream) { return launch(params, &stream); });
}

}  // namespace recto::verify
