#include "bazel/testing/benchmark_run.h"

#include <benchmark/benchmark.h>

#include <iostream>
#include <string>
#include <vector>

namespace recto {
namespace {

constexpr const char* kSkipped = "SKIPPED: ";

// Why a run was aborted; empty if it was not. The fields' names depend on the library's version.
template <typename Run>
std::string trouble_of(const Run& run) {
  if constexpr (requires { run.error_occurred; }) {
    return run.error_occurred ? run.error_message : "";
  } else {
    return run.skipped == decltype(run.skipped){} ? "" : run.skip_message;
  }
}

class Reporter final : public benchmark::ConsoleReporter {
 public:
  Reporter() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      const std::string trouble = trouble_of(run);
      if (trouble.rfind(kSkipped, 0) == 0) {
        std::cout << kSkipped << run.benchmark_name() << ": "
                  << trouble.substr(std::string(kSkipped).size()) << "\n";
      } else if (!trouble.empty()) {
        has_errors_ = true;
      }
    }
  }
  bool has_errors() const { return has_errors_; }

 private:
  bool has_errors_ = false;
};

}  // namespace

int run_benchmarks() {
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.has_errors() ? 1 : 0;
}

}  // namespace recto
