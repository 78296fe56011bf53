// Runs the extension on drawn cases, in order and under every policy, on one OS thread and on two
// in turn, and prints the bits of its results, one per line. All compilers and modes must print the
// same. Exits with 1 if bits depend on the schedule or, where memory is tainted, on slots that no
// sequence addresses.
//
//   packed_cover
//   packed_cover schedules  few cases, under four policies with sixteen seeds each, on one OS
//                           thread and on two
//   packed_cover slot       contexts that are said to be one token longer than they are, within
//                           their last block
//   packed_cover entry      the same, where the token is in another block

#include <fmt/format.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random_stream.h"
#include "verify/cases/case_generator.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/kernel_cover/taint.h"
#include "verify/simt/examples/packed_decode_backend.h"
#include "verify/simt/examples/packed_decode_cases.h"

namespace recto::verify {
namespace {

// A variant of the computation: in one pass or in partitions, sums in float or in half precision.
struct Variant {
  const char* name = "";
  TypePair types = {};
  PackedDecodeHow how = {};
};

// The result of a call, and (taint_text) whether it depends on memory that is not addressed.
struct Outcome {
  std::uint64_t bits = 0;
  std::string taint;
};

Outcome outcome_of(simt::Executor& executor, const Variant& variant,
                   const PagedAttentionInputs& inputs) {
  Outcome outcome;
  PackedDecodeHow how = variant.how;
  how.look = [&](std::span<std::byte> out) {
    outcome.taint = taint_text("out", out, element_bytes(inputs.q.type));
    clear_taint(out);
  };
  const std::vector<double> out = result_of(packed_decode_backend(executor, how).call(inputs)).out;
  outcome.bits = XXH3_64bits(out.data(), out.size() * sizeof(double));
  return outcome;
}

// Prints a result and returns the number of faults: 1 if it is tainted.
int print(const Variant& variant, std::uint64_t number, const Outcome& outcome,
          const std::string& schedule) {
  std::cout << fmt::format("{} {} {:016x}{}\n", variant.name, number, outcome.bits, schedule);
  if (outcome.taint.empty()) return 0;
  std::cout << fmt::format("taint in kernel '{}': {}\n", "packed-decode", outcome.taint);
  return 1;
}

PlacedProblem drawn_problem(const Variant& variant, std::uint64_t number, std::int64_t padding) {
  RandomStream stream = RandomStream(2026).split("packed cover").split(number);
  CaseDomain domain = packed_domain(variant.types);
  domain.context_max = 100;  // two partitions: sanitizers are slow
  domain.num_seqs_max = 2;
  CaseSpec spec = draw_case(stream, domain);
  if (padding > 0) {
    spec.placement.table_padding = padding;
    spec.placement.garbage_beyond_table = false;
  }
  return PlacedProblem(make_problem(spec), spec.placement);
}

// The number of faults: schedules with other bits than in order, and tainted results.
int run_case(const Variant& variant, std::uint64_t number, simt::Executor& executor) {
  const PlacedProblem placed = drawn_problem(variant, number, 0);
  const TaintScope tainted(placed.inputs());
  executor.set_options({});
  const Outcome expected = outcome_of(executor, variant, placed.inputs());
  int faults = print(variant, number, expected, "");
  for (std::size_t i = 0; i < simt::kSchedulePolicies.size(); ++i) {
    const simt::SchedulePolicy policy = simt::kSchedulePolicies[i];
    const auto os_threads = static_cast<unsigned>(1 + (i + number) % 2);
    executor.set_options(
        {.schedule = {.policy = policy, .seed = number}, .os_threads = os_threads});
    const Outcome outcome = outcome_of(executor, variant, placed.inputs());
    faults +=
        print(variant, number, outcome,
              fmt::format(" {}, {} OS threads", simt::schedule_policy_name(policy), os_threads));
    if (outcome.bits != expected.bits) {
      std::cout << "the result depends on the schedule\n";
      ++faults;
    }
  }
  return faults;
}

const Variant kVariants[] = {
    {"float", kFloat, {}},
    {"float-partitioned", kFloat, {.partition_size = 64}},
    {"half", kHalf, {}},
    {"half-partitioned", kHalf, {.partition_size = 64}},
    {"half-sums", kHalf, {.half_sums = true}},
};

// Runs the call under every schedule. Returns the number of schedules with other bits than in
// order.
int sweep_case(const Variant& variant, std::uint64_t number, simt::Executor& executor) {
  const PlacedProblem placed = drawn_problem(variant, number, 0);
  executor.set_options({});
  const Outcome expected = outcome_of(executor, variant, placed.inputs());
  int runs = 0;
  int faults = 0;
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
      for (const unsigned os_threads : {1U, 2U}) {
        executor.set_options(
            {.schedule = {.policy = policy, .seed = seed}, .os_threads = os_threads});
        ++runs;
        if (outcome_of(executor, variant, placed.inputs()).bits == expected.bits) continue;
        std::cout << fmt::format("{}, seed {}, {} OS threads: the result depends on the schedule\n",
                                 simt::schedule_policy_name(policy), seed, os_threads);
        ++faults;
      }
    }
  }
  return faults + print(variant, number, expected, fmt::format(", {} schedules", runs));
}

int run_schedules() {
  simt::Executor executor({});
  return sweep_case(kVariants[0], 0, executor) + sweep_case(kVariants[3], 1, executor) == 0 ? 0 : 1;
}

std::span<const std::byte> pool_bytes(const KvTensorView& view) {
  return {static_cast<const std::byte*>(view.data),
          static_cast<std::size_t>(view.num_blocks * view.block_stride * element_bytes(view.type))};
}

// A fault that reads memory that is not addressed: a slot after the context, or a table entry after
// the sequence's blocks.
int run_planted(const Variant& variant, std::uint64_t number, std::string_view fault,
                simt::Executor& executor) {
  const PlacedProblem placed = drawn_problem(variant, number, 4);
  const PagedAttentionInputs& inputs = placed.inputs();
  const TaintScope tainted(inputs);
  const bool is_slot = fault == "slot";
  // Only values stay tainted, because no branch depends on them.
  if (is_slot) clear_taint(pool_bytes(inputs.kv.k));
  std::vector<std::int32_t> lengths(inputs.context_length.begin(), inputs.context_length.end());
  for (std::int32_t& length : lengths) {
    if ((length % inputs.kv.k.block_size != 0) == is_slot) ++length;
  }
  PagedAttentionInputs longer = inputs;
  longer.context_length = lengths;
  return print(variant, number, outcome_of(executor, variant, longer), "");
}

int run(std::string_view fault) {
  constexpr std::uint64_t kCases = 2;
  simt::Executor executor({});
  int faults = 0;
  for (const Variant& variant : kVariants) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      faults += fault.empty() ? run_case(variant, number, executor)
                              : run_planted(variant, number, fault, executor);
    }
  }
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recto::verify

int main(int count, char** arguments) {
  const std::string_view fault = count > 1 ? arguments[1] : "";
  if (fault == "schedules") return recto::verify::run_schedules();
  if (fault.empty() || fault == "slot" || fault == "entry") return recto::verify::run(fault);
  std::cerr << "packed_cover: expected schedules, slot, entry or nothing, got '" << fault << "'\n";
  return 2;
}
