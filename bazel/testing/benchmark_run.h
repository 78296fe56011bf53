#pragma once

// Runs what is registered with Google Benchmark, for the main() of benchmark programs.

namespace recto {

// After benchmark::Initialize(). Returns the program's exit code, which, unlike the library's own,
// is 1 where a benchmark found an error (State::SkipWithError), so that a wrong result is no figure
// and no passing test. A message that begins with "SKIPPED: " is no error: its line is printed to
// be counted.
int run_benchmarks();

}  // namespace recto
