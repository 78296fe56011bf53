#include "verify/kernel_backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "cuda/kernels/paged_decode.h"
#include "cuda/kernels/split_decode.h"
#include "reference/rounding.h"
#include "verify/kernel_numerics.h"
#include "verify/kernel_state_merge.h"

namespace recto::verify {
namespace {

using kernels::PagedDecodeParams;
using kernels::SplitDecodeParams;

const float* data_of(std::span<const float> values) {
  return values.empty() ? nullptr : values.data();
}

std::int64_t longest_context(const PagedAttentionInputs& inputs) {
  std::int64_t longest = 0;
  for (const std::int32_t length : inputs.context_length) {
    longest = std::max<std::int64_t>(longest, length);
  }
  return longest;
}

// Everything but where the results go.
PagedDecodeParams params_of(const PagedAttentionInputs& inputs) {
  const AttentionOptions& options = inputs.options;
  return {.q = inputs.q,
          .kv = inputs.kv,
          .block_table = inputs.block_table,
          .context_length = inputs.context_length.data(),
          .options = {.scale = options.scale,
                      .softcap = options.softcap,
                      .window = options.window.value_or(kernels::kNoWindow),
                      .alibi_slopes = data_of(options.alibi_slopes),
                      .sinks = data_of(options.sinks)},
          .out = {.type = inputs.q.type,
                  .num_rows = inputs.q.num_rows,
                  .num_heads = inputs.q.num_heads,
                  .head_dim = inputs.kv.v.head_dim,
                  .row_stride = inputs.q.num_heads * inputs.kv.v.head_dim,
                  .head_stride = inputs.kv.v.head_dim}};
}

std::optional<std::string> why_unsupported(const PagedAttentionInputs& inputs) {
  for (std::size_t sequence = 0; sequence + 1 < inputs.query_start.size(); ++sequence) {
    if (inputs.query_start[sequence + 1] - inputs.query_start[sequence] != 1) {
      return "not one query row a sequence";
    }
  }
  if (const char* error = kernels::why_not_served(params_of(inputs))) return error;
  return std::nullopt;
}

// Memory for the results, NaN until somebody writes it.
struct Results {
  explicit Results(const PagedDecodeParams& params)
      : out(static_cast<std::size_t>(params.out.num_rows * params.out.row_stride *
                                     element_bytes(params.out.type)),
            std::byte{0xff}),
        lse_ln(static_cast<std::size_t>(params.out.num_rows * params.out.num_heads),
               std::numeric_limits<float>::quiet_NaN()) {}

  reference::AttentionResult read(const PagedDecodeParams& params) const {
    const MutableRowsView& shape = params.out;
    reference::AttentionResult result(shape.num_rows, shape.num_heads, shape.head_dim);
    reference::decode_row(out.data(), shape.type, result.out);
    std::ranges::copy(lse_ln, result.lse_ln.begin());
    return result;
  }

  std::vector<std::byte> out;  // [num_rows, num_heads, head_dim]
  std::vector<float> lse_ln;   // [num_rows, num_heads]
};

// Of launches whose grid has the sequence as its x, and at most `thread_blocks` in all.
void add_inputs(DeviceCall& call, const PagedAttentionInputs& inputs, std::int64_t thread_blocks) {
  call.add_read("q", inputs.q);
  call.add_contexts(inputs.kv, inputs.block_table, inputs.context_length, thread_blocks);
  call.add_read("alibi_slopes", inputs.options.alibi_slopes);
  call.add_read("sinks", inputs.options.sinks);
}

// Backends run one after the other, so that one executor, with its stacks, does for all of a
// backend's runs.
struct Runner {
  explicit Runner(const KernelRun& run) : how(run), executor(run.executor) {}

  KernelRun how;
  simt::Executor executor;
};

reference::AttentionResult run_paged_decode(Runner& runner, const PagedAttentionInputs& inputs) {
  PagedDecodeParams params = params_of(inputs);
  Results results(params);
  params.out.data = results.out.data();
  params.lse_ln = results.lse_ln.data();
  DeviceCall call(runner.executor);
  add_inputs(call, inputs, inputs.q.num_rows * inputs.q.num_heads);
  call.add_write("out", params.out);
  call.add_write("lse_ln", std::span(results.lse_ln));
  call.run(runner.how.observer, [&params](simt::Stream& stream) {
    return kernels::launch_paged_decode(params, &stream).error;
  });
  return results.read(params);
}

reference::AttentionResult run_split_decode(Runner& runner, std::int64_t split_size,
                                            const PagedAttentionInputs& inputs) {
  SplitDecodeParams params{.decode = params_of(inputs), .split_size = split_size};
  params.num_splits = kernels::num_splits(longest_context(inputs), split_size);
  const std::int64_t num_states = inputs.q.num_rows * inputs.q.num_heads * params.num_splits;
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> maximum(static_cast<std::size_t>(num_states), kNaN);
  std::vector<float> sum(static_cast<std::size_t>(num_states), kNaN);
  std::vector<float> weighted(static_cast<std::size_t>(num_states * inputs.kv.v.head_dim), kNaN);
  params.states = {maximum.data(), sum.data(), weighted.data()};
  Results results(params.decode);
  params.decode.out.data = results.out.data();
  params.decode.lse_ln = results.lse_ln.data();
  DeviceCall call(runner.executor);
  add_inputs(call, inputs, num_states);
  call.add_write("out", params.decode.out);
  call.add_write("lse_ln", std::span(results.lse_ln));
  call.add_write("states.maximum", std::span(maximum));
  call.add_write("states.sum", std::span(sum));
  call.add_write("states.weighted", std::span(weighted));
  call.run(runner.how.observer, [&params](simt::Stream& stream) {
    if (const char* error = kernels::launch_split_decode(params, &stream).error) return error;
    return kernels::launch_split_merge(params, &stream).error;
  });
  return results.read(params.decode);
}

using Run = std::function<reference::AttentionResult(const PagedAttentionInputs&)>;

Backend decode_backend(const std::string& name, std::int64_t split_size, Run run) {
  return {.name = name,
          .why_unsupported = why_unsupported,
          .run = std::move(run),
          .numerics =
              [split_size](const PagedAttentionInputs& inputs) {
                return decode_kernel_numerics(inputs.q.type, split_size);
              },
          .has_fixed_tiles = true,
          .state_merge = StateMerge{.merge = merge_as_kernels_do, .type = StateType::kFp32}};
}

}  // namespace

Backend paged_decode_backend(const KernelRun& how) {
  const auto runner = std::make_shared<Runner>(how);
  return decode_backend("paged-decode", 0, [runner](const PagedAttentionInputs& inputs) {
    return run_paged_decode(*runner, inputs);
  });
}

Backend split_decode_backend(const KernelRun& how, std::int64_t split_size) {
  const auto runner = std::make_shared<Runner>(how);
  Backend backend = decode_backend(fmt::format("split-decode-{}", split_size), split_size,
                                   [runner, split_size](const PagedAttentionInputs& inputs) {
                                     return run_split_decode(*runner, split_size, inputs);
                                   });
  backend.with_split_size = [how](std::int64_t size) { return split_decode_backend(how, size); };
  return backend;
}

std::vector<Backend> kernel_backends(const KernelRun& how) {
  constexpr std::int64_t kSplitSize = 40;
  return {paged_decode_backend(how), split_decode_backend(how, kSplitSize)};
}

}  // namespace recto::verify
