// The cost of checking: attention without checks and with every access checked, in query heads x
// tokens per second.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "core/contract.h"
#include "verify/simt/checks/access_checker.h"
#include "verify/simt/executor/executor.h"

namespace recto::simt {

void attention_like_plain(const float* q, const float* k, const float* v, float* out, int tokens);
void attention_like_checked(const float* q, const float* k, const float* v, float* out, int tokens);
void read_global(const float* in, float* out, int count);
void write_global(const float* in, float* out, int count);
void read_shared(const float* in, float* out, int count);
void write_shared(const float* in, float* out, int count);

namespace {

constexpr unsigned kBlocks = 16;
constexpr int kTokens = 256;
constexpr std::size_t kHeadDim = 128;

struct Inputs {
  std::vector<float> q = std::vector<float>(kBlocks * kHeadDim, 0.1F);
  std::vector<float> k = std::vector<float>(kBlocks * kTokens * kHeadDim, 0.01F);
  std::vector<float> v = std::vector<float>(kBlocks * kTokens * kHeadDim, 1.0F);
  std::vector<float> out = std::vector<float>(kBlocks * kHeadDim);
};

void add(DeviceMemory& memory, const char* name, std::vector<float>& data, BufferUse use) {
  RECTO_CHECK(
      memory
          .add({name, reinterpret_cast<std::byte*>(data.data()), data.size() * sizeof(float), use})
          .is_ok());
}

void run(benchmark::State& state, Executor& executor, Inputs& inputs,
         void (*kernel)(const float*, const float*, const float*, float*, int)) {
  const LaunchConfig config = {"attention", {kBlocks}, {kHeadDim}, kTokens * sizeof(float)};
  for (auto _ : state) {
    const LaunchReport report = launch(executor, config, kernel, inputs.q.data(), inputs.k.data(),
                                       inputs.v.data(), inputs.out.data(), kTokens);
    RECTO_CHECK(report.passed());
  }
  state.SetItemsProcessed(state.iterations() * kBlocks * kTokens);
}

void attention_plain(benchmark::State& state) {
  Inputs inputs;
  Executor executor({});
  run(state, executor, inputs, attention_like_plain);
}
BENCHMARK(attention_plain)->Unit(benchmark::kMillisecond);

// `use` is that of the cache's buffers.
void attention_checked(benchmark::State& state, BufferUse use) {
  Inputs inputs;
  DeviceMemory memory;
  add(memory, "q", inputs.q, BufferUse::kReadOnly);
  add(memory, "k", inputs.k, use);
  add(memory, "v", inputs.v, use);
  add(memory, "out", inputs.out, BufferUse::kWriteFirst);
  AccessChecker checker(memory, {});
  Executor executor({});
  executor.set_observer(&checker);
  run(state, executor, inputs, attention_like_checked);
  state.counters["accesses"] = benchmark::Counter(static_cast<double>(checker.accesses()) /
                                                  static_cast<double>(state.iterations()));
  state.counters["accesses/s"] =
      benchmark::Counter(static_cast<double>(checker.accesses()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(attention_checked, read_only_cache, BufferUse::kReadOnly)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(attention_checked, writable_cache, BufferUse::kReadWrite)
    ->Unit(benchmark::kMillisecond);

// Single accesses by 128 threads without preemption.
void access_checked(benchmark::State& state, void (*kernel)(const float*, float*, int),
                    BufferUse use) {
  constexpr int kCount = 2048;
  std::vector<float> in(65536);
  std::vector<float> out(65536);
  DeviceMemory memory;
  add(memory, "in", in, use);
  add(memory, "out", out, BufferUse::kReadWrite);
  AccessChecker checker(memory, {});
  Executor executor({});
  executor.set_observer(&checker);
  for (auto _ : state) {
    RECTO_CHECK(
        launch(executor, {"accesses", {1}, {128}}, kernel, in.data(), out.data(), kCount).passed());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(checker.accesses()));
}
BENCHMARK_CAPTURE(access_checked, read_only, read_global, BufferUse::kReadOnly);
BENCHMARK_CAPTURE(access_checked, read_writable, read_global, BufferUse::kReadWrite);
BENCHMARK_CAPTURE(access_checked, write_writable, write_global, BufferUse::kReadWrite);
BENCHMARK_CAPTURE(access_checked, read_shared, read_shared, BufferUse::kReadOnly);
BENCHMARK_CAPTURE(access_checked, write_shared, write_shared, BufferUse::kReadOnly);

}  // namespace
}  // namespace recto::simt
