// The common main() of these benchmarks. Without a GPU it prints "no GPU: WHY" and returns 3,
// unless it is only asked for the list of cases (--benchmark_list_tests) or for help (--help).

#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "bazel/testing/benchmark_run.h"
#include "cuda/bench/card_name.h"
#include "cuda/bench/device.h"
#include "cuda/bench/measured.h"

namespace recto::bench {
namespace {

constexpr int kUsageExitCode = 2;
constexpr const char* kHelp =
    "Measures kernels on the first GPU. Exit codes: 0 done, 1 a case failed, 2 bad usage, 3 no "
    "GPU.\n\n"
    "  [--full]        the whole grid, which takes hours\n"
    "  [--samples=N]   samples of each case; fewer, but at least 5, after a second [31]\n"
    "  [--card]        prints the card's name in the form that folders of results use\n\n"
    "and Google Benchmark's flags:\n\n";

struct Flags {
  CaseSet set = CaseSet::kDefault;
  bool asks_for_card = false;
  bool only_lists = false;
};

std::optional<std::int64_t> parse_samples(std::string_view text) {
  std::int64_t samples = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), samples);
  const bool is_good =
      error == std::errc() && end == text.data() + text.size() && samples > 0 && samples <= 100000;
  return is_good ? std::optional(samples) : std::nullopt;
}

// Parses the flags that Google Benchmark has left.
Result<Flags> parse(int argc, char** argv) {
  constexpr std::string_view kSamples = "--samples=";
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--full") {
      flags.set = CaseSet::kFull;
    } else if (word == "--card") {
      flags.asks_for_card = true;
    } else if (word.starts_with(kSamples)) {
      const auto samples = parse_samples(word.substr(kSamples.size()));
      if (!samples) {
        return Status::invalid_input(std::string(word) + ": expected 1 to 100000 samples");
      }
      set_samples(*samples);
    } else {
      return Status::invalid_input(std::string(word) +
                                   ": unknown; expected --full, --samples=N, --card or flags of "
                                   "Google Benchmark (--help)");
    }
  }
  return flags;
}

void print_help() {
  std::cout << kHelp;
  benchmark::PrintDefaultHelp();
}

bool is_asked_for_list(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--benchmark_list_tests" || word == "--benchmark_list_tests=true") return true;
  }
  return false;
}

void add_context(const Card& card) {
  benchmark::AddCustomContext("gpu", card.name);
  benchmark::AddCustomContext("compute_capability", card.compute_capability);
  benchmark::AddCustomContext("multiprocessors", std::to_string(card.num_multiprocessors));
  benchmark::AddCustomContext("l2_bytes", std::to_string(card.l2_bytes));
  benchmark::AddCustomContext("memory_bytes", std::to_string(card.memory_bytes));
  benchmark::AddCustomContext("clock_khz_max", std::to_string(card.clock_khz_max));
  benchmark::AddCustomContext("memory_clock_khz_max", std::to_string(card.memory_clock_khz_max));
  benchmark::AddCustomContext("driver_cuda", card.driver_cuda);
  benchmark::AddCustomContext("runtime_cuda", card.runtime_cuda);
}

int run(const Flags& flags) {
  if (!flags.only_lists) {
    const std::string why = why_no_gpu();
    const Result<Card> here = why.empty() ? card() : Result<Card>(Status::failed(why));
    if (!here.is_ok()) {
      std::cout << "no GPU: " << here.status().message() << std::endl;
      return kNoGpuExitCode;
    }
    if (flags.asks_for_card) {
      std::cout << card_folder_name(here.value().name) << std::endl;
      return 0;
    }
    add_context(here.value());
    const Status measured = measure_card();
    if (!measured.is_ok()) {
      std::cerr << "the card's own rates: " << measured.message() << '\n';
      return 1;
    }
  }
  register_benchmarks(flags.set);
  return run_benchmarks();
}

}  // namespace
}  // namespace recto::bench

int main(int argc, char** argv) {
  const bool only_lists = recto::bench::is_asked_for_list(argc, argv);
  benchmark::Initialize(&argc, argv, recto::bench::print_help);
  auto flags = recto::bench::parse(argc, argv);
  if (!flags.is_ok()) {
    std::cerr << flags.status().message() << '\n';
    return recto::bench::kUsageExitCode;
  }
  recto::bench::Flags parsed = flags.value();
  parsed.only_lists = only_lists;
  return recto::bench::run(parsed);
}
