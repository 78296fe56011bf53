#include "verify/kernels/kernel_backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "reference/rounding.h"
#include "verify/kernels/kernel_calls.h"
#include "verify/kernels/kernel_numerics.h"
#include "verify/kernels/kernel_state_merge.h"

namespace recto::verify {
namespace {

reference::AttentionResult read(const PagedAttentionInputs& inputs, const DecodeResults& results) {
  reference::AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  reference::decode_row(results.out.data(), inputs.q.type, result.out);
  std::ranges::copy(results.lse_ln, result.lse_ln.begin());
  return result;
}

// All runs of a backend share one executor and its stacks, as they do not run at the same time.
struct Runner {
  explicit Runner(const KernelRun& run) : how(run), executor(run.executor) {}

  KernelRun how;
  simt::Executor executor;
};

using Run = std::function<reference::AttentionResult(const PagedAttentionInputs&)>;

Backend decode_backend(const std::string& name, std::int64_t split_size, Run run) {
  return {.name = name,
          .why_unsupported = why_not_decoded,
          .run = std::move(run),
          .numerics =
              [split_size](const PagedAttentionInputs& inputs) {
                return decode_kernel_numerics(inputs.q.type, inputs.kv.k.type, split_size);
              },
          .has_fixed_tiles = true,
          .has_independent_sequences = true,
          .state_merge = StateMerge{.merge = merge_as_kernels_do, .type = StateType::kFp32}};
}

// A function that makes the backend by `make`, with another pattern in stale memory.
std::function<Backend(std::uint32_t)> with_stale_memory(
    KernelRun how, std::function<Backend(const KernelRun&)> make) {
  return [how = std::move(how), make = std::move(make)](std::uint32_t pattern) {
    KernelRun stale = how;
    stale.stale_memory = pattern;
    return make(stale);
  };
}

using SplitCall = void (*)(simt::Executor& executor, const ObserverMaker& observer,
                           const PagedAttentionInputs& inputs, std::int64_t split_size,
                           DecodeResults& results);

// A backend of the kernels that pack query heads by group.
Backend group_backend(const KernelRun& how, const std::string& name, std::int64_t split_size,
                      SplitCall call) {
  const auto runner = std::make_shared<Runner>(how);
  Backend backend =
      decode_backend(fmt::format("{}-{}", name, split_size), split_size,
                     [runner, split_size, call](const PagedAttentionInputs& inputs) {
                       DecodeResults results(inputs, runner->how.stale_memory);
                       call(runner->executor, runner->how.observer, inputs, split_size, results);
                       return read(inputs, results);
                     });
  backend.numerics = [split_size](const PagedAttentionInputs& inputs) {
    return group_decode_numerics(inputs.q.type, inputs.kv.k.type, split_size);
  };
  return backend;
}

}  // namespace

Backend paged_decode_backend(const KernelRun& how) {
  const auto runner = std::make_shared<Runner>(how);
  Backend backend = decode_backend("paged-decode", 0, [runner](const PagedAttentionInputs& inputs) {
    DecodeResults results(inputs, runner->how.stale_memory);
    call_paged_decode(runner->executor, runner->how.observer, inputs, results);
    return read(inputs, results);
  });
  backend.with_stale_memory = with_stale_memory(how, paged_decode_backend);
  return backend;
}

Backend split_decode_backend(const KernelRun& how, std::int64_t split_size) {
  const auto runner = std::make_shared<Runner>(how);
  Backend backend = decode_backend(fmt::format("split-decode-{}", split_size), split_size,
                                   [runner, split_size](const PagedAttentionInputs& inputs) {
                                     DecodeResults results(inputs, runner->how.stale_memory);
                                     call_split_decode(runner->executor, runner->how.observer,
                                                       inputs, split_size, results);
                                     return read(inputs, results);
                                   });
  backend.with_split_size = [how](std::int64_t size) { return split_decode_backend(how, size); };
  backend.with_stale_memory = with_stale_memory(how, [split_size](const KernelRun& stale) {
    return split_decode_backend(stale, split_size);
  });
  return backend;
}

Backend group_decode_backend(const KernelRun& how, std::int64_t split_size) {
  Backend backend = group_backend(how, "group-decode", split_size, call_group_decode);
  backend.why_unsupported = why_not_group_decoded;
  backend.with_split_size = [how](std::int64_t size) { return group_decode_backend(how, size); };
  backend.with_stale_memory = with_stale_memory(how, [split_size](const KernelRun& stale) {
    return group_decode_backend(stale, split_size);
  });
  return backend;
}

Backend bulk_decode_backend(const KernelRun& how, std::int64_t split_size) {
  Backend backend = group_backend(how, "bulk-decode", split_size, call_bulk_decode);
  backend.why_unsupported = why_not_bulk_decoded;
  backend.with_split_size = [how](std::int64_t size) { return bulk_decode_backend(how, size); };
  backend.with_stale_memory = with_stale_memory(
      how, [split_size](const KernelRun& stale) { return bulk_decode_backend(stale, split_size); });
  return backend;
}

Backend paged_prefill_backend(const KernelRun& how) {
  const auto runner = std::make_shared<Runner>(how);
  Backend backend =
      decode_backend("paged-prefill", 0, [runner](const PagedAttentionInputs& inputs) {
        DecodeResults results(inputs, runner->how.stale_memory);
        call_paged_prefill(runner->executor, runner->how.observer, inputs, results);
        return read(inputs, results);
      });
  backend.why_unsupported = why_not_prefilled;
  backend.numerics = [](const PagedAttentionInputs& inputs) {
    return prefill_numerics(inputs.q.type, inputs.kv.k.type, inputs.kv.k.head_dim);
  };
  backend.with_stale_memory = with_stale_memory(how, paged_prefill_backend);
  return backend;
}

std::vector<Backend> kernel_backends(const KernelRun& how) {
  constexpr std::int64_t kSplitSize = 40;
  return {paged_decode_backend(how), split_decode_backend(how, kSplitSize)};
}

}  // namespace recto::verify
