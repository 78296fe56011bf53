#pragma once

// Runs the benchmarks registered with Google Benchmark, for the main() of benchmark programs.

namespace recto {

// Call it after benchmark::Initialize(). Returns the program's exit code, which, unlike the
// library's, is 1 if a benchmark found an error (State::SkipWithError), so that a wrong result
// gives neither a figure nor a passing test. A message that begins with "SKIPPED: " is not an
// error: its line is printed to be counted.
int run_benchmarks();

}  // namespace recto
