// Runs the kernels of cuda/kernels over a cover of their configurations and prints the bits of what
// they computed, a line each. Built by several compilers and in several modes it must print the
// same; sanitizers end it in their own ways. Where memory is tainted, it says what depends on slots
// that no sequence addresses.
//
//   kernel_cover [CASES]
//   kernel_cover slot     decode of contexts that are said to be one token longer than they are,
//                         within their last block
//   kernel_cover entry    the same, where the token is in another block

#include <fmt/format.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random_stream.h"
#include "verify/generators/case_generator.h"
#include "verify/kernel_calls.h"
#include "verify/kernel_cover/cache_cover.h"
#include "verify/kernel_cover/taint.h"
#include "verify/placed_problem.h"
#include "verify/whole_number.h"

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

void print(std::uint64_t number, const CacheState& state, Tally& tally) {
  std::cout << fmt::format("{} {} cache {:016x}\n", number, state.kernel, bits(state.bytes));
  if (state.is_tainted) {
    std::cout << "tainted: a cache depends on what is not addressed\n";
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

// A fault that reads what is not addressed: in a slot behind the context, or in an entry of the
// table behind its blocks.
enum class Planted : std::uint8_t { kSlot, kEntry };

std::span<const std::byte> pool_bytes(const KvTensorView& view) {
  return {static_cast<const std::byte*>(view.data),
          static_cast<std::size_t>(view.num_blocks * view.block_stride * element_bytes(view.type))};
}

void run_planted(std::uint64_t number, Planted fault, simt::Executor& executor, Tally& tally) {
  RandomStream stream = RandomStream(kSeed).split("cover").split(number);
  CaseSpec spec = draw_case(stream, covered());
  spec.placement.table_padding = 4;
  spec.placement.garbage_beyond_table = false;
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const TaintScope tainted(inputs);
  // Kernels branch on scores, which ends the program; values go on to the results.
  if (fault == Planted::kSlot) clear_taint(pool_bytes(inputs.kv.k));
  std::vector<std::int32_t> lengths(inputs.context_length.begin(), inputs.context_length.end());
  for (std::int32_t& length : lengths) {
    if ((length % inputs.kv.k.block_size != 0) == (fault == Planted::kSlot)) ++length;
  }
  PagedAttentionInputs longer = inputs;
  longer.context_length = lengths;
  if (why_not_decoded(longer)) return;
  DecodeResults results(longer);
  call_paged_decode(executor, {}, longer, results);
  print(number, "paged-decode", results, tally);
}

int run(std::string_view what) {
  simt::Executor executor({});
  Tally tally;
  constexpr std::uint64_t kPlantedCases = 10;
  const Planted fault = what == "slot" ? Planted::kSlot : Planted::kEntry;
  for (std::uint64_t i = 0; i < kPlantedCases; ++i) run_planted(i, fault, executor, tally);
  return tally.tainted == 0 ? 0 : 1;
}

int run(std::uint64_t cases) {
  simt::Executor executor({});
  Tally tally;
  for (std::uint64_t number = 0; number < cases; ++number) run_case(number, executor, tally);
  for (std::uint64_t number = 0; number < cases / 2; ++number) {
    for (const CacheState& state : run_cache_case(number)) print(number, state, tally);
  }
  return tally.tainted == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recto::verify

int main(int count, char** arguments) {
  constexpr std::uint64_t kCases = 60;
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "slot" || what == "entry") return recto::verify::run(what);
  if (what.empty()) return recto::verify::run(kCases);
  const std::optional<std::uint64_t> cases = recto::verify::whole_number(what);
  if (cases && *cases > 0) return recto::verify::run(*cases);
  std::cerr << "kernel_cover: expected slot, entry or a number of cases, got '" << what << "'\n";
  return 2;
}
