// Built twice, like the test. Prints the nanoseconds of one switch, and of a fiber's whole life.

#include "verify/simt/fibers/fiber.h"

#include <benchmark/benchmark.h>

#include <memory>

namespace recto::simt {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;

struct Ring {
  std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(kStackBytes);
  Fiber home;
  Fiber fiber;
};

void come_back(void* argument) {
  auto& ring = *static_cast<Ring*>(argument);
  for (;;) Fiber::switch_between(ring.fiber, ring.home);
}

void fiber_switch(benchmark::State& state) {
  Ring ring;
  ring.fiber.prepare({ring.memory.get(), kStackBytes}, &come_back, &ring);
  constexpr int kSwitches = 2;
  for (auto _ : state) Fiber::switch_between(ring.home, ring.fiber);
  state.counters["seconds_per_switch"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kSwitches,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(fiber_switch);

void fiber_life(benchmark::State& state) {
  Ring ring;
  for (auto _ : state) {
    ring.fiber.prepare({ring.memory.get(), kStackBytes}, &come_back, &ring);
    Fiber::switch_between(ring.home, ring.fiber);
  }
}
BENCHMARK(fiber_life);

}  // namespace
}  // namespace recto::simt
