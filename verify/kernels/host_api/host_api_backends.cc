#include "verify/kernels/host_api/host_api_backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/contract.h"
#include "cuda/decode_step.h"
#include "cuda/paged_attention.h"
#include "reference/rounding.h"
#include "verify/decode_step_backend.h"
#include "verify/kernels/device_call.h"
#include "verify/kernels/kernel_calls.h"
#include "verify/kernels/kernel_numerics.h"
#include "verify/kernels/kernel_runner.h"

namespace recto::verify {
namespace {

std::int64_t longest(std::span<const std::int32_t> lengths) {
  return lengths.empty() ? 0 : *std::ranges::max_element(lengths);
}

std::int64_t most_rows(const PagedAttentionInputs& inputs) {
  std::int64_t most = 1;
  for (std::size_t s = 0; s + 1 < inputs.query_start.size(); ++s) {
    most = std::max<std::int64_t>(most, inputs.query_start[s + 1] - inputs.query_start[s]);
  }
  return most;
}

// Decode kernels assume that row s belongs to sequence s.
bool has_one_row_each(const PagedAttentionInputs& inputs) {
  return most_rows(inputs) == 1 && inputs.q.num_rows == std::ssize(inputs.context_length);
}

Result<AttentionPlan> plan_for(const PagedAttentionInputs& inputs, PlanOptions options) {
  options.max_context_length =
      std::max({std::int64_t{1}, options.max_context_length, longest(inputs.context_length)});
  options.max_query_length = std::max(options.max_query_length, most_rows(inputs));
  options.contents_check = ContentsCheck::kOnDevice;
  return plan_attention(inputs, options);
}

// The sequence of each thread block: in prefill, sequences are the last dimension of the grid, else
// the first.
BlockOwners owners_of(const AttentionPlan& plan, const PagedAttentionInputs& inputs) {
  const std::int64_t num_seqs = std::ssize(inputs.context_length);
  const std::int64_t heads = inputs.kv.k.num_kv_heads;
  if (plan.kernel == AttentionKernel::kPrefill) {
    const std::int64_t rows = plan.max_query_length * (inputs.q.num_heads / heads);
    return owners_in_runs((rows + 63) / 64 * heads, num_seqs);
  }
  return owners_in_turn(num_seqs * inputs.q.num_heads * plan.num_splits, num_seqs);
}

void add_options(DeviceCall& call, const AttentionOptions& options) {
  call.add_read("alibi_slopes", options.alibi_slopes);
  call.add_read("sinks", options.sinks);
}

using Launch = std::function<Status(const AttentionOutputs& outputs, const Workspace& workspace,
                                    simt::Stream& stream)>;

struct CallMemory {
  const ObserverMaker& observer;
  std::int64_t workspace_bytes = 0;
  std::uint32_t stale = kStaleNaN;
};

// `call` must have all inputs registered.
reference::AttentionResult run_call(DeviceCall& call, const PagedAttentionInputs& inputs,
                                    const CallMemory& of_call, const Launch& launch) {
  DecodeResults results(inputs, of_call.stale);
  std::vector<std::byte> memory(static_cast<std::size_t>(of_call.workspace_bytes));
  fill_with(memory, of_call.stale);
  const MutableRowsView out =
      dense_rows<void*>(results.out.data(), inputs.q.type, inputs.q.num_rows, inputs.q.num_heads,
                        inputs.kv.v.head_dim);
  call.add_write("out", out);
  call.add_write("lse_ln", std::span(results.lse_ln));
  call.add_write("workspace", std::span(memory));
  call.run(of_call.observer, [&](simt::Stream& stream) {
    return launch({.out = out, .lse_ln = results.lse_ln},
                  {.data = memory.data(), .bytes = of_call.workspace_bytes}, stream);
  });
  reference::AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  reference::decode_row(results.out.data(), inputs.q.type, result.out);
  std::ranges::copy(results.lse_ln, result.lse_ln.begin());
  return result;
}

reference::AttentionResult run(KernelRunner& runner, const PagedAttentionInputs& inputs,
                               const PlanOptions& planned, const CallOptions& options) {
  const AttentionPlan plan = plan_for(inputs, planned).value();
  DeviceCall call(runner.executor_for(options));
  call.add_read("q", inputs.q);
  call.add_contexts(inputs.kv, inputs.block_table, inputs.context_length, owners_of(plan, inputs));
  call.add_read("query_start", inputs.query_start);
  add_options(call, inputs.options);
  return run_call(
      call, inputs, {runner.observer(), plan.workspace_bytes, options.stale_memory},
      [&](const AttentionOutputs& outputs, const Workspace& workspace, simt::Stream& stream) {
        return run_attention(plan, inputs, outputs, workspace, &stream);
      });
}

reference::KernelNumerics numerics_of(const AttentionPlan& plan,
                                      const PagedAttentionInputs& inputs) {
  const ElementType q = inputs.q.type;
  const ElementType kv = inputs.kv.k.type;
  switch (plan.kernel) {
    case AttentionKernel::kReferenceDecode:
      return in_planned_splits(
          decode_kernel_numerics(q, kv, plan.num_splits == 1 ? 0 : plan.split_size), plan);
    case AttentionKernel::kPrefill:
      return prefill_numerics(q, kv, inputs.kv.k.head_dim);
    default:
      return in_planned_splits(gqa_decode_numerics(q, kv, plan.split_size), plan);
  }
}

std::string name_of(const char* kind, const PlanOptions& options) {
  return fmt::format("{}, {}", kind,
                     options.kernel ? attention_kernel_name(*options.kernel) : "by its rule");
}

PlanOptions split_as(PlanOptions planned, const CallOptions& options) {
  if (options.split_size) planned.split_size = *options.split_size;
  return planned;
}

// The blocks that each sequence's context addresses.
std::vector<std::vector<std::int64_t>> blocks_of(const PagedAttentionInputs& inputs) {
  std::vector<std::vector<std::int64_t>> blocks;
  for (std::int64_t s = 0; s < std::ssize(inputs.context_length); ++s) {
    auto& own = blocks.emplace_back();
    const std::int32_t* row = inputs.block_table.data + s * inputs.block_table.row_stride;
    const std::int64_t length = inputs.context_length[static_cast<std::size_t>(s)];
    for (std::int64_t i = 0; i * inputs.kv.k.block_size < length; ++i) own.push_back(row[i]);
  }
  return blocks;
}

// Safe: the cache is the backend's own copy, which has no other reader.
MutableKvTensorView writable(const KvTensorView& tensor) {
  return view_over(tensor, const_cast<void*>(tensor.data));
}

reference::AttentionResult run_step(KernelRunner& runner, const DecodeStepInputs& inputs,
                                    PlanOptions planned, const CallOptions& options) {
  const DecodeStep step = {.q = inputs.q,
                           .new_k = inputs.new_k,
                           .new_v = inputs.new_v,
                           .kv = {writable(inputs.kv.k), writable(inputs.kv.v)},
                           .block_table = inputs.block_table,
                           .cached_length = inputs.cached_length,
                           .options = inputs.options};
  planned.max_context_length =
      std::max({std::int64_t{1}, planned.max_context_length, longest(inputs.cached_length) + 1});
  planned.contents_check = ContentsCheck::kOnDevice;
  const AttentionPlan plan = plan_decode_step(step, planned).value();
  std::vector<std::int32_t> lengths(inputs.cached_length.begin(), inputs.cached_length.end());
  for (std::int32_t& length : lengths) ++length;
  const PagedAttentionInputs after = {.q = inputs.q,
                                      .kv = inputs.kv,
                                      .block_table = inputs.block_table,
                                      .context_length = lengths,
                                      .options = inputs.options};
  DeviceCall call(runner.executor_for(options));
  call.add_read("q", inputs.q);
  call.add_read("new_k", inputs.new_k);
  call.add_read("new_v", inputs.new_v);
  call.add_write(step.kv, blocks_of(after), owners_of(plan, after));
  call.add_read("block_table", inputs.block_table);
  call.add_read("cached_length", inputs.cached_length);
  add_options(call, inputs.options);
  return run_call(
      call, after, {runner.observer(), plan.workspace_bytes, options.stale_memory},
      [&](const AttentionOutputs& outputs, const Workspace& workspace, simt::Stream& stream) {
        return run_decode_step(plan, step, outputs, workspace, &stream);
      });
}

}  // namespace

Backend host_api_backend(const KernelRun& how, const PlanOptions& planned) {
  return {.name = name_of("host API", planned),
          .capabilities = {.has_tiles_by_strides = runs_on_hopper(),
                           .has_independent_sequences =
                               planned.batch_invariance == BatchInvariance::kRows,
                           .takes_split_size = true,
                           .takes_stale_memory = true},
          .attend =
              [runner = std::make_shared<KernelRunner>(how), planned](
                  const PagedAttentionInputs& inputs, const CallOptions& options) {
                return Done{run(*runner, inputs, split_as(planned, options), options)};
              },
          .numerics_of =
              [planned](const PagedAttentionInputs& inputs, const CallOptions& options) {
                return numerics_of(plan_for(inputs, split_as(planned, options)).value(), inputs);
              },
          .refusal = [planned](const PagedAttentionInputs& inputs,
                               const CallOptions& options) -> std::optional<std::string> {
            if (planned.kernel && *planned.kernel != AttentionKernel::kPrefill &&
                !has_one_row_each(inputs)) {
              return "not exactly one query row per sequence";
            }
            const Status status = plan_for(inputs, split_as(planned, options)).status();
            return status.is_ok() ? std::nullopt : std::optional(status.message());
          }};
}

Backend host_api_step_backend(const KernelRun& how, const PlanOptions& planned) {
  Backend backend = decode_step_backend(
      name_of("host API step", planned),
      [runner = std::make_shared<KernelRunner>(how), planned](const DecodeStepInputs& inputs,
                                                              const CallOptions& options) {
        return run_step(*runner, inputs, split_as(planned, options), options);
      },
      [planned](const PagedAttentionInputs& inputs, const CallOptions& options) {
        return numerics_of(plan_for(inputs, split_as(planned, options)).value(), inputs);
      });
  backend.capabilities = {.takes_split_size = true, .takes_stale_memory = true};
  return backend;
}

}  // namespace recto::verify
