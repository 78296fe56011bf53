// The cost of checks: attention by kernels that are instrumented for observation, without an
// observer and with the checker. Compare kernel_backends_benchmark, which runs uninstrumented
// kernels.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>

#include "verify/kernels/decode_workload.h"
#include "verify/kernels/device_call.h"
#include "verify/simt/checks/access_checker.h"

namespace recto::verify {
namespace {

void add_memory(DeviceCall& call, DecodeWorkload& decode) {
  const kernels::ReferenceDecodeParams& params = decode.params.decode;
  call.add_read("q", params.q);
  call.add_read("block_table", std::span<const std::int32_t>(decode.batch.lists.block_table));
  call.add_read("context_length", decode.batch.inputs.context_length);
  call.add_contexts(
      params.kv, params.block_table, decode.batch.inputs.context_length,
      owners_in_turn(DecodeWorkload::kRows * DecodeWorkload::kSplits, params.block_table.num_seqs));
  call.add_write("out", params.out);
  call.add_write("states.maximum", std::span(decode.maximum));
  call.add_write("states.sum", std::span(decode.sum));
  call.add_write("states.weighted", std::span(decode.weighted));
}

void run(benchmark::State& state, const ObserverMaker& observer, const std::uint64_t* accesses) {
  DecodeWorkload decode;
  simt::Executor executor({.os_threads = 1});
  for (auto _ : state) {
    DeviceCall call(executor);
    add_memory(call, decode);
    call.run(observer, [&decode](simt::Stream& stream) -> Status {
      RECTO_RETURN_IF_ERROR(kernels::launch_split_decode(decode.params, &stream));
      return kernels::launch_split_merge(decode.params, &stream);
    });
  }
  const auto head_tokens =
      static_cast<double>(state.iterations() * DecodeWorkload::kRows * DecodeWorkload::kTokens);
  state.counters["head_tokens_per_second"] =
      benchmark::Counter(head_tokens, benchmark::Counter::kIsRate);
  if (accesses != nullptr) {
    state.counters["accesses_per_head_token"] = static_cast<double>(*accesses) / head_tokens;
  }
}

void split_decode_observed_by_nobody(benchmark::State& state) { run(state, {}, nullptr); }
BENCHMARK(split_decode_observed_by_nobody)->UseRealTime()->Unit(benchmark::kMillisecond);

void split_decode_checked(benchmark::State& state) {
  std::uint64_t accesses = 0;
  const auto make_checker = [&accesses](const simt::DeviceMemory& memory) {
    return std::shared_ptr<simt::Observer>(
        new simt::AccessChecker(memory, {}), [&accesses](simt::Observer* observer) {
          auto* checker = static_cast<simt::AccessChecker*>(observer);
          accesses += checker->accesses();
          delete checker;
        });
  };
  run(state, make_checker, &accesses);
}
BENCHMARK(split_decode_checked)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recto::verify
