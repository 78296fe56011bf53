// The main() of every benchmark.

#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
