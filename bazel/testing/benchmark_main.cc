// The main() of every benchmark without further flags.

#include <benchmark/benchmark.h>

#include "bazel/testing/benchmark_run.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  return recto::run_benchmarks();
}
