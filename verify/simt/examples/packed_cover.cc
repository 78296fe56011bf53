// Runs the extension over drawn cases, in order and under every policy, on one OS thread and on two
// in turn, and prints the bits of its results, a line each. All compilers and modes must print the
// same; it ends with 1 if bits depend on the schedule.

#include <fmt/format.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include "core/random_stream.h"
#include "verify/generators/case_generator.h"
#include "verify/placed_problem.h"
#include "verify/simt/examples/packed_decode_backend.h"
#include "verify/simt/examples/packed_decode_cases.h"

namespace recto::verify {
namespace {

// What is computed: in one pass or in partitions, sums in float or in half precision.
struct Variant {
  const char* name = "";
  TypePair types = {};
  PackedDecodeHow how = {};
};

std::uint64_t result_bits(simt::Executor& executor, const PackedDecodeHow& how,
                          const PagedAttentionInputs& inputs) {
  const std::vector<double> out = packed_decode_backend(executor, how).run(inputs).out;
  return XXH3_64bits(out.data(), out.size() * sizeof(double));
}

// How many schedules give other bits than those that are printed.
int run_case(const Variant& variant, std::uint64_t number, simt::Executor& executor) {
  RandomStream stream = RandomStream(2026).split("packed cover").split(number);
  CaseDomain domain = packed_domain(variant.types);
  domain.context_max = 100;  // two partitions: sanitizers take their time
  domain.num_seqs_max = 2;
  const CaseSpec spec = draw_case(stream, domain);
  const PlacedProblem placed(make_problem(spec), spec.placement);
  executor.set_options({});
  const std::uint64_t expected = result_bits(executor, variant.how, placed.inputs());
  std::cout << fmt::format("{} {} {:016x}\n", variant.name, number, expected);
  int differing = 0;
  for (std::size_t i = 0; i < simt::kSchedulePolicies.size(); ++i) {
    const simt::SchedulePolicy policy = simt::kSchedulePolicies[i];
    const auto os_threads = static_cast<unsigned>(1 + (i + number) % 2);
    executor.set_options(
        {.schedule = {.policy = policy, .seed = number}, .os_threads = os_threads});
    const std::uint64_t bits = result_bits(executor, variant.how, placed.inputs());
    std::cout << fmt::format("{} {} {:016x} {}, {} OS threads\n", variant.name, number, bits,
                             simt::schedule_policy_name(policy), os_threads);
    if (bits != expected) ++differing;
  }
  return differing;
}

int run() {
  constexpr std::uint64_t kCases = 2;
  const Variant variants[] = {
      {"float", kFloat, {}},
      {"float-partitioned", kFloat, {.partition_size = 64}},
      {"half", kHalf, {}},
      {"half-partitioned", kHalf, {.partition_size = 64}},
      {"half-sums", kHalf, {.half_sums = true}},
  };
  simt::Executor executor({});
  int differing = 0;
  for (const Variant& variant : variants) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      differing += run_case(variant, number, executor);
    }
  }
  if (differing > 0) std::cout << differing << " results depend on the schedule\n";
  return differing == 0 ? 0 : 1;
}

}  // namespace
}  // namespace recto::verify

int main() { return recto::verify::run(); }
