// Runs the kernels of cuda/kernels over a cover of their configurations and prints the bits of what
// they computed, a line each. Built by several compilers and in several modes it must print the
// same, and under every schedule; sanitizers end it in their own ways. Where memory is tainted, it
// says what depends on slots that no sequence addresses.
//
//   kernel_cover [CASES]
//   kernel_cover slot     decode of contexts that are said to be one token longer than they are,
//                         within their last block
//   kernel_cover entry    the same, where the token is in another block

#include <fmt/format.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <functional>
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

// What one kernel has computed.
struct Outcome {
  std::string kernel;
  std::string bits;
  std::string taint;  // as of taint_text()
};

template <typename T>
std::uint64_t bits_of(const std::vector<T>& values) {
  return XXH3_64bits(values.data(), values.size() * sizeof(T));
}

Outcome outcome_of(const std::string& kernel, const PagedAttentionInputs& inputs,
                   const DecodeResults& results) {
  Outcome outcome = {
      .kernel = kernel,
      .bits = fmt::format("out {:016x} lse {:016x}", bits_of(results.out), bits_of(results.lse_ln)),
      .taint = taint_text("out", results.out, element_bytes(inputs.q.type))};
  if (outcome.taint.empty()) {
    outcome.taint = taint_text("lse_ln", std::as_bytes(std::span(results.lse_ln)), sizeof(float));
  }
  return outcome;
}

Outcome outcome_of(const ScoreResults& results) {
  return {.kernel = "group-scores",
          .bits = fmt::format("{:016x}", bits_of(results.scores)),
          .taint = taint_text("scores", std::as_bytes(std::span(results.scores)), sizeof(float))};
}

Outcome outcome_of(const CacheState& state) {
  return {.kernel = state.kernel,
          .bits = fmt::format("cache {:016x}", bits_of(state.bytes)),
          .taint = state.taint};
}

// Of one case in four: every policy in turn, on one OS thread and then on two.
simt::ExecutorOptions other_schedule(std::uint64_t number) {
  const std::uint64_t turn = number / 4;
  return {.schedule = {.policy = simt::kSchedulePolicies[turn % 4], .seed = number},
          .os_threads = static_cast<unsigned>(1 + turn / 4 % 2)};
}

class Report {
 public:
  void print(std::uint64_t number, const Outcome& outcome) {
    std::cout << fmt::format("{} {} {}\n", number, outcome.kernel, outcome.bits);
    if (outcome.taint.empty()) return;
    std::cout << fmt::format("taint in kernel '{}': {}\n", outcome.kernel, outcome.taint);
    ++faults_;
  }

  // The bits of the same under another schedule.
  void compare(std::uint64_t number, const Outcome& expected, const Outcome& outcome) {
    print(number, outcome);
    if (outcome.bits == expected.bits) return;
    std::cout << fmt::format("schedule: expected {}\n", expected.bits);
    ++faults_;
  }

  int exit_status() const { return faults_ == 0 ? 0 : 1; }

 private:
  int faults_ = 0;
};

std::vector<Outcome> decode_outcomes(simt::Executor& executor, const PagedAttentionInputs& inputs) {
  std::vector<Outcome> outcomes;
  DecodeResults whole(inputs);
  call_paged_decode(executor, {}, inputs, whole);
  outcomes.push_back(outcome_of("paged-decode", inputs, whole));
  DecodeResults split(inputs);
  constexpr std::int64_t kSplitSize = 40;
  call_split_decode(executor, {}, inputs, kSplitSize, split);
  outcomes.push_back(outcome_of("split-decode", inputs, split));
  if (why_not_scored(inputs)) return outcomes;
  ScoreResults scores(inputs);
  call_group_scores(executor, {}, kernels::launch_group_scores, inputs, scores);
  outcomes.push_back(outcome_of(scores));
  return outcomes;
}

std::vector<Outcome> cache_outcomes(const simt::ExecutorOptions& how, std::uint64_t number) {
  std::vector<Outcome> outcomes;
  for (const CacheState& state : run_cache_case({.executor = how}, number)) {
    outcomes.push_back(outcome_of(state));
  }
  return outcomes;
}

bool is_fourth(std::uint64_t number) { return number % 4 == 0; }

using Computation = std::function<std::vector<Outcome>(const simt::ExecutorOptions& how)>;

// In order, and under another schedule as well if it is varied.
void run_case(std::uint64_t number, bool is_varied, const Computation& compute, Report& report) {
  const std::vector<Outcome> expected = compute({});
  for (const Outcome& outcome : expected) report.print(number, outcome);
  if (!is_varied) return;
  const simt::ExecutorOptions how = other_schedule(number);
  std::cout << fmt::format("{} {}, seed {}, {} OS threads:\n", number,
                           simt::schedule_policy_name(how.schedule.policy), how.schedule.seed,
                           how.os_threads);
  const std::vector<Outcome> outcomes = compute(how);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    report.compare(number, expected[i], outcomes[i]);
  }
}

void run_decode_case(std::uint64_t number, simt::Executor& executor, Report& report) {
  RandomStream stream = RandomStream(kSeed).split("cover").split(number);
  const CaseSpec spec = draw_case(stream, covered());
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  if (why_not_decoded(inputs)) return;
  const TaintScope tainted(inputs);
  const auto compute = [&](const simt::ExecutorOptions& how) {
    executor.set_options(how);
    return decode_outcomes(executor, inputs);
  };
  // Few are scored.
  run_case(number, is_fourth(number) || !why_not_scored(inputs), compute, report);
}

// A fault that reads what is not addressed: in a slot behind the context, or in an entry of the
// table behind its blocks.
enum class Planted : std::uint8_t { kSlot, kEntry };

std::span<const std::byte> pool_bytes(const KvTensorView& view) {
  return {static_cast<const std::byte*>(view.data),
          static_cast<std::size_t>(view.num_blocks * view.block_stride * element_bytes(view.type))};
}

void run_planted(std::uint64_t number, Planted fault, simt::Executor& executor, Report& report) {
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
  report.print(number, outcome_of("paged-decode", longer, results));
}

int run(std::string_view what) {
  simt::Executor executor({});
  Report report;
  constexpr std::uint64_t kPlantedCases = 10;
  const Planted fault = what == "slot" ? Planted::kSlot : Planted::kEntry;
  for (std::uint64_t i = 0; i < kPlantedCases; ++i) run_planted(i, fault, executor, report);
  return report.exit_status();
}

int run(std::uint64_t cases) {
  simt::Executor executor({});
  Report report;
  for (std::uint64_t number = 0; number < cases; ++number) {
    run_decode_case(number, executor, report);
  }
  for (std::uint64_t number = 0; number < cases / 2; ++number) {
    const auto compute = [=](const auto& how) { return cache_outcomes(how, number); };
    run_case(number, is_fourth(number), compute, report);
  }
  return report.exit_status();
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
