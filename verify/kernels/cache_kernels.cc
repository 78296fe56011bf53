#include "verify/kernels/cache_kernels.h"

#include <algorithm>
#include <functional>

#include "cuda/kernels/gather.h"
#include "verify/kernels/kernel_cache_ops.h"
#include "verify/laws/cache_operations/block_move_laws.h"
#include "verify/laws/cache_operations/gather_law.h"
#include "verify/laws/cache_operations/kv_append_law.h"
#include "verify/laws/cache_operations/kv_write_law.h"

namespace recto::verify {
namespace {

// Calls `run` if `served` is ok.
CallOutcome run_if(const Status& served, const std::function<void()>& run) {
  if (!served.is_ok()) return Unsupported{served.message()};
  run();
  return Done{};
}

kernels::KvAppendParams params_of(const KvAppendInputs& inputs) {
  return {.k = inputs.k,
          .v = inputs.v,
          .block_table = inputs.block_table,
          .cached_length = inputs.cached_length.data(),
          .kv = inputs.kv,
          .context_length = inputs.context_length.data()};
}

kernels::GatherParams params_of(const GatherInputs& inputs) {
  kernels::GatherParams params{.kv = inputs.kv,
                               .block_table = inputs.block_table,
                               .context_length = inputs.context_length.data(),
                               .context_start = inputs.context_start.data(),
                               .k = inputs.k,
                               .v = inputs.v};
  for (const std::int32_t length : inputs.context_length)
    params.max_context_length = std::max<std::int64_t>(params.max_context_length, length);
  return params;
}

std::vector<Law> write_laws(const std::string& backend, const KernelRun& how) {
  return {kv_write_law({.backend = backend, .write = [how](const KvWriteInputs& inputs) {
                          return run_if(
                              kernels::check_write({.k = inputs.k,
                                                    .v = inputs.v,
                                                    .slot_mapping = inputs.slot_mapping.data(),
                                                    .kv = inputs.kv}),
                              [&] { write_kv_by_kernel(how, inputs); });
                        }})};
}

std::vector<Law> append_laws(const std::string& backend, const KernelRun& how) {
  return {kv_append_law({.backend = backend, .append = [how](const KvAppendInputs& inputs) {
                           const kernels::KvAppendParams params = params_of(inputs);
                           return run_if(kernels::check_append(params),
                                         [&] { append_kv_by_kernel(how, params); });
                         }})};
}

std::vector<Law> copy_laws(const std::string& backend, const KernelRun& how) {
  return {block_copy_law(backend,
                         [how](const MutablePagedKvView& kv, std::span<const BlockPair> pairs) {
                           copy_blocks_by_kernel(how, kv, pairs);
                           return Done{};
                         }),
          block_swap_law(backend, [how](const PagedKvView& from, const MutablePagedKvView& to,
                                        std::span<const BlockPair> pairs) {
            swap_blocks_by_kernel(how, from, to, pairs);
            return Done{};
          })};
}

std::vector<Law> gather_laws(const std::string& backend, const KernelRun& how) {
  return {gather_law({.backend = backend, .gather = [how](const GatherInputs& inputs) {
                        return run_if(kernels::check_gather(params_of(inputs)),
                                      [&] { gather_kv_by_kernel(how, inputs); });
                      }})};
}

constexpr CacheKernel kAll[] = {
    {"kv-write", "KV write", "cuda/kernels/kv_write", write_laws},
    {"kv-append", "KV append", "cuda/kernels/kv_append", append_laws},
    {"block-copy", "block copy, swap", "cuda/kernels/block_copy, within and between pools",
     copy_laws},
    {"gather", "gather", "cuda/kernels/gather, contexts as contiguous rows", gather_laws}};

}  // namespace

std::span<const CacheKernel> cache_kernels() { return kAll; }

}  // namespace recto::verify
