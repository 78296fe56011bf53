// The main() of every benchmark. Unlike the library's own it fails where a benchmark found an
// error (State::SkipWithError), so that a wrong result is no figure and no passing test. A message
// that begins with "SKIPPED: " is no error: its line is printed to be counted.

#include <benchmark/benchmark.h>

#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr const char* kSkipped = "SKIPPED: ";

// Why a run was given up; empty if it was not. The fields' names depend on the library's version.
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

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.has_errors() ? 1 : 0;
}
