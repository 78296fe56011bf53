// Attention on the executor, plain: query heads times tokens per second.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "cuda/kernels/group_decode.h"
#include "verify/decode_workload.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

// Runs launch(stream) on the argument's OS threads.
template <typename Launch>
void run(benchmark::State& state, const Launch& launch) {
  simt::Executor executor({.os_threads = static_cast<unsigned>(state.range(0))});
  std::uint64_t switches = 0;
  for (auto _ : state) {
    simt::Stream stream(executor);
    const Status launched = launch(stream);
    const simt::LaunchReport& report = stream.synchronise();
    switches += report.switches;
    if (!launched.is_ok() || !report.passed()) {
      state.SkipWithError((launched.message() + report.text()).c_str());
      return;
    }
  }
  const auto head_tokens =
      static_cast<double>(state.iterations() * DecodeWorkload::kRows * DecodeWorkload::kTokens);
  state.counters["head_tokens_per_second"] =
      benchmark::Counter(head_tokens, benchmark::Counter::kIsRate);
  state.counters["switches_per_head_token"] = static_cast<double>(switches) / head_tokens;
}

void split_decode(benchmark::State& state) {
  DecodeWorkload decode;
  run(state, [&decode](simt::Stream& stream) -> Status {
    RECTO_RETURN_IF_ERROR(kernels::launch_split_decode(decode.params, &stream));
    return kernels::launch_split_merge(decode.params, &stream);
  });
}
BENCHMARK(split_decode)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// Sixteen rows at a time, of which a group of four fills a quarter.
void group_decode(benchmark::State& state) {
  DecodeWorkload decode;
  run(state, [&decode](simt::Stream& stream) -> Status {
    RECTO_RETURN_IF_ERROR(kernels::launch_group_decode(decode.params, &stream));
    return kernels::launch_split_merge(decode.params, &stream);
  });
}
BENCHMARK(group_decode)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void paged_decode(benchmark::State& state) {
  DecodeWorkload decode;
  run(state, [&decode](simt::Stream& stream) -> Status {
    return kernels::launch_paged_decode(decode.params.decode, &stream);
  });
}
BENCHMARK(paged_decode)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recto::verify
