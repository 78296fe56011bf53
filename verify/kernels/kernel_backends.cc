#include "verify/kernels/kernel_backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "reference/rounding.h"
#include "verify/kernels/device_call.h"
#include "verify/kernels/kernel_calls.h"
#include "verify/kernels/kernel_numerics.h"
#include "verify/kernels/kernel_runner.h"
#include "verify/kernels/kernel_state_merge.h"

namespace recto::verify {
namespace {

reference::AttentionResult read(const PagedAttentionInputs& inputs, const DecodeResults& results) {
  reference::AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  reference::decode_row(results.out.data(), inputs.q.type, result.out);
  std::ranges::copy(results.lse_ln, result.lse_ln.begin());
  return result;
}

// A kernel of kernel_calls.h. A split size of 0 means no splits.
struct CalledKernel {
  std::string name;
  std::int64_t split_size = 0;  // the default
  void (*call)(simt::Executor&, const ObserverMaker&, const PagedAttentionInputs&,
               std::int64_t split_size, DecodeResults&) = nullptr;
  std::optional<std::string> (*refusal)(const PagedAttentionInputs&) = why_not_decoded;
  reference::KernelNumerics (*numerics)(const PagedAttentionInputs&,
                                        std::int64_t split_size) = nullptr;
};

Backend backend_of(const KernelRun& how, const CalledKernel& kernel) {
  const auto runner = std::make_shared<KernelRunner>(how);
  const auto split_size = [kernel](const CallOptions& options) {
    return kernel.split_size == 0 ? 0 : options.split_size.value_or(kernel.split_size);
  };
  return {.name = kernel.name,
          .capabilities = {.has_fixed_tiles = true,
                           .has_independent_sequences = true,
                           .takes_split_size = kernel.split_size > 0,
                           .takes_stale_memory = true},
          .attend =
              [runner, kernel, split_size](const PagedAttentionInputs& inputs,
                                           const CallOptions& options) {
                DecodeResults results(inputs, options.stale_memory);
                kernel.call(runner->executor_for(options), runner->observer(), inputs,
                            split_size(options), results);
                return Done{read(inputs, results)};
              },
          .numerics_of =
              [kernel, split_size](const PagedAttentionInputs& inputs, const CallOptions& options) {
                return kernel.numerics(inputs, split_size(options));
              },
          .refusal = [kernel](const PagedAttentionInputs& inputs,
                              const CallOptions&) { return kernel.refusal(inputs); },
          .state_merge = StateMerge{.merge = merge_as_kernels_do, .type = StateType::kFp32}};
}

reference::KernelNumerics plain_numerics(const PagedAttentionInputs& inputs,
                                         std::int64_t split_size) {
  return decode_kernel_numerics(inputs.q.type, inputs.kv.k.type, split_size);
}

reference::KernelNumerics group_numerics(const PagedAttentionInputs& inputs,
                                         std::int64_t split_size) {
  return gqa_decode_numerics(inputs.q.type, inputs.kv.k.type, split_size);
}

}  // namespace

Backend reference_decode_backend(const KernelRun& how) {
  return backend_of(
      how,
      {.name = "reference-decode",
       .call = [](auto& executor, auto& observer, auto& inputs, auto,
                  auto& results) { call_reference_decode(executor, observer, inputs, results); },
       .numerics = plain_numerics});
}

Backend split_decode_backend(const KernelRun& how, std::int64_t split_size) {
  return backend_of(how, {.name = fmt::format("split-decode-{}", split_size),
                          .split_size = split_size,
                          .call = call_split_decode,
                          .numerics = plain_numerics});
}

Backend gqa_decode_backend(const KernelRun& how, std::int64_t split_size) {
  return backend_of(how, {.name = fmt::format("gqa-decode-{}", split_size),
                          .split_size = split_size,
                          .call = call_gqa_decode,
                          .refusal = why_not_gqa_decoded,
                          .numerics = group_numerics});
}

Backend tma_decode_backend(const KernelRun& how, std::int64_t split_size) {
  return backend_of(how, {.name = fmt::format("tma-decode-{}", split_size),
                          .split_size = split_size,
                          .call = call_tma_decode,
                          .refusal = why_not_tma_decoded,
                          .numerics = group_numerics});
}

Backend paged_prefill_backend(const KernelRun& how) {
  Backend backend = backend_of(
      how, {.name = "paged-prefill",
            .call = [](auto& executor, auto& observer, auto& inputs, auto,
                       auto& results) { call_paged_prefill(executor, observer, inputs, results); },
            .refusal = why_not_prefilled,
            .numerics =
                [](const PagedAttentionInputs& inputs, std::int64_t) {
                  return prefill_numerics(inputs.q.type, inputs.kv.k.type, inputs.kv.k.head_dim);
                }});
  backend.capabilities.has_fixed_tiles = !runs_on_hopper();
  backend.capabilities.has_tiles_by_strides = runs_on_hopper();
  return backend;
}

std::vector<Backend> kernel_backends(const KernelRun& how) {
  constexpr std::int64_t kSplitSize = 40;
  return {reference_decode_backend(how), split_decode_backend(how, kSplitSize)};
}

}  // namespace recto::verify
