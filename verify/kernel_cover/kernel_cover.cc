// Runs the kernels of cuda/kernels over a cover of their configurations and prints the bits of what
// they computed, a line each. Built by several compilers and in several modes it must print the
// same; sanitizers end it in their own ways. Where memory is tainted, it says what depends on slots
// that no sequence addresses.
//
//   kernel_cover [CASES]

#include <fmt/format.h>
#include <xxhash.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>

#include "core/random_stream.h"
#include "verify/generators/case_generator.h"
#include "verify/kernel_calls.h"
#include "verify/kernel_cover/cache_cover.h"
#include "verify/kernel_cover/taint.h"
#include "verify/placed_problem.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kSeed = 2026;

CaseDomain covered() {
  CaseDomain domain;
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {1, 3, 8, 20, 64, 80, 128};
  domain.groups = {1, 2, 4};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.context_max = 150;
  return domain;
}

template <typename T>
std::uint64_t bits(const std::vector<T>& values) {
  return XXH3_64bits(values.data(), values.size() * sizeof(T));
}

struct Tally {
  int tainted = 0;
};

void print(std::uint64_t number, const std::string& kernel, const DecodeResults& results,
           Tally& tally) {
  std::cout << fmt::format("{} {} out {:016x} lse {:016x}\n", number, kernel, bits(results.out),
                           bits(results.lse_ln));
  if (is_tainted(std::as_bytes(std::span(results.out))) ||
      is_tainted(std::as_bytes(std::span(results.lse_ln)))) {
    std::cout << "tainted: results depend on slots that are not addressed\n";
    ++tally.tainted;
  }
}

void print(std::uint64_t number, const ScoreResults& results, Tally& tally) {
  std::cout << fmt::format("{} group-scores {:016x}\n", number, bits(results.scores));
  if (is_tainted(std::as_bytes(std::span(results.scores)))) {
    std::cout << "tainted: scores depend on slots that are not addressed\n";
    ++tally.tainted;
  }
}

void run_case(std::uint64_t number, simt::Executor& executor, Tally& tally) {
  RandomStream stream = RandomStream(kSeed).split("cover").split(number);
  const CaseSpec spec = draw_case(stream, covered());
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  if (why_not_decoded(inputs)) return;
  const TaintScope tainted(inputs);
  DecodeResults whole(inputs);
  call_paged_decode(executor, {}, inputs, whole);
  print(number, "paged-decode", whole, tally);
  DecodeResults split(inputs);
  constexpr std::int64_t kSplitSize = 40;
  call_split_decode(executor, {}, inputs, kSplitSize, split);
  print(number, "split-decode", split, tally);
  if (why_not_scored(inputs)) return;
  ScoreResults scores(inputs);
  call_group_scores(executor, {}, kernels::launch_group_scores, inputs, scores);
  print(number, scores, tally);
}

void print_cache_case(std::uint64_t number) {
  for (const CacheState& state : run_cache_case(number)) {
    std::cout << fmt::format("{} {} cache {:016x}\n", number, state.kernel, bits(state.bytes));
  }
}

int run(std::uint64_t cases) {
  simt::Executor executor({});
  Tally tally;
  for (std::uint64_t number = 0; number < cases; ++number) run_case(number, executor, tally);
  for (std::uint64_t number = 0; number < cases / 2; ++number) print_cache_case(number);
  return tally.tainted == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recto::verify

int main(int count, char** arguments) {
  constexpr std::uint64_t kCases = 60;
  return recto::verify::run(count > 1 ? std::strtoull(arguments[1], nullptr, 10) : kCases);
}
