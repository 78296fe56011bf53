// Query heads x tokens per second, on one core, without and with all checks.

#include "verify/ptx/examples/own_kernels.h"

#include <benchmark/benchmark.h>

namespace recto::ptx {
namespace {

void run(benchmark::State& state, OwnKernel kernel, const OwnSizes& sizes, const Checks& checks) {
  Result<OwnCall> call = OwnCall::prepare(kernel, "80", sizes);
  if (!call.is_ok()) {
    state.SkipWithError(("SKIPPED: " + call.status().message()).c_str());
    return;
  }
  for (auto _ : state) {
    if (!call.value().run({.checks = checks}).passed()) state.SkipWithError("the kernel fails");
  }
  state.counters["head_tokens_per_second"] = benchmark::Counter(
      call.value().work() * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

constexpr OwnSizes kDecode = {.context_length = 1024, .q_heads = 8, .head_dim = 128};
constexpr OwnSizes kPrompt = {.context_length = 256, .query_length = 128};

BENCHMARK_CAPTURE(run, paged_decode, OwnKernel::kPagedDecode, kDecode, Checks{});
BENCHMARK_CAPTURE(run, paged_decode_checked, OwnKernel::kPagedDecode, kDecode, Checks::all());
BENCHMARK_CAPTURE(run, split_decode, OwnKernel::kSplitDecode, kDecode, Checks{});
BENCHMARK_CAPTURE(run, split_decode_checked, OwnKernel::kSplitDecode, kDecode, Checks::all());
BENCHMARK_CAPTURE(run, prefill, OwnKernel::kPrefill, kPrompt, Checks{});
BENCHMARK_CAPTURE(run, prefill_checked, OwnKernel::kPrefill, kPrompt, Checks::all());
BENCHMARK_CAPTURE(run, wide_prefill, OwnKernel::kWidePrefill, kPrompt, Checks{});
BENCHMARK_CAPTURE(run, wide_prefill_checked, OwnKernel::kWidePrefill, kPrompt, Checks::all());

}  // namespace
}  // namespace recto::ptx
