// recto's kernels as nvcc compiles them: the oracle's bounds, and the bits of the fiber executor
// where both define them.

#include "verify/kernels/nvcc/nvcc_backends.h"

#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "verify/cases/case_generator.h"
#include "verify/cases/placed_problem.h"
#include "verify/comparison.h"
#include "verify/kernels/host_api/host_api_backends.h"

namespace recto::verify {
namespace {

CaseDomain domain_of(const TypePair& types) {
  CaseDomain domain;
  domain.types = {types};
  domain.head_dims = {64, 128};
  domain.block_sizes = {16};
  domain.num_seqs_max = 2;
  domain.num_kv_heads_max = 2;
  domain.context_max = 100;
  return domain;
}

constexpr TypePair kTypes[] = {{ElementType::kFp32, ElementType::kFp32},
                               {ElementType::kFp16, ElementType::kFp16},
                               {ElementType::kBf16, ElementType::kBf16},
                               {ElementType::kFp16, ElementType::kE4m3}};

PlacedProblem drawn(const TypePair& types, std::uint64_t number) {
  RandomStream stream = RandomStream(2026).split("nvcc").split(number);
  const CaseSpec spec = draw_case(stream, domain_of(types));
  return PlacedProblem(make_problem(spec), spec.placement);
}

std::uint64_t num_cases() { return is_full_run() ? 20 : 5; }

// Calls visit(types, inputs, result of the library) for drawn cases that the backend serves.
template <typename Visit>
void for_each_case(const std::string& target, Visit visit) {
  const Result<std::string> library = nvcc_library(target);
  if (!library.is_ok()) return testing::report_skipped(library.status().message());
  const Backend backend = nvcc_backend(target, library.value());
  for (const TypePair& types : kTypes) {
    for (std::uint64_t number = 0; number < num_cases(); ++number) {
      const PlacedProblem placed = drawn(types, number);
      if (backend.why_unsupported(placed.inputs()).has_value()) continue;
      INFO(target << ", " << element_type_name(types.q) << ", case " << number);
      const CallOutcome outcome = backend.call(placed.inputs());
      if (const auto* failed = std::get_if<Failed>(&outcome)) FAIL_CHECK(failed->message);
      if (!std::holds_alternative<Done>(outcome)) continue;
      visit(types, placed.inputs(), std::get<Done>(outcome).result);
    }
  }
}

TEST_CASE(
    "the kernels as nvcc compiles them are within the probabilistic bound, without a finding") {
  for (const char* target : kNvccTargets) {
    const Backend numerics = host_api_backend({}, {});
    for_each_case(target, [&](const TypePair&, const PagedAttentionInputs& inputs,
                              const reference::AttentionResult& result) {
      const reference::BoundedResult oracle =
          reference::bounded_attention(inputs, numerics.numerics(inputs));
      const Comparison comparison = compare(inputs, result, oracle.exact, oracle.probabilistic);
      INFO(comparison.text());
      CHECK(comparison.passed());
    });
  }
}

bool has_equal_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Compares results of both executors.
struct Bits {
  int cases = 0;
  int equal = 0;
  int independent = 0;  // have no bit that depends on the library of the compiler
  int unexplained = 0;  // differ all the same
};

// Whether a result has other bits if expf, tanhf and logf err as CUDA's may.
bool depends_on_library(const PagedAttentionInputs& inputs, const std::vector<double>& out) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    KernelRun how;
    how.executor.arithmetic = {.fast_math = simt::FastMath::kLibraryPerturbed,
                               .fast_math_seed = seed};
    const Backend fibers = host_api_backend(how, {});
    if (!has_equal_bits(result_of(fibers.call(inputs)).out, out)) return true;
  }
  return false;
}

Bits compare_bits(const std::string& target, ElementType q) {
  const Backend fibers = host_api_backend({}, {});
  Bits bits;
  for_each_case(target, [&](const TypePair& types, const PagedAttentionInputs& inputs,
                            const reference::AttentionResult& result) {
    if (types.q != q) return;
    const reference::AttentionResult other = result_of(fibers.call(inputs));
    const bool is_equal = has_equal_bits(result.out, other.out);
    const bool is_independent = !depends_on_library(inputs, other.out);
    ++bits.cases;
    bits.equal += is_equal;
    bits.independent += is_independent;
    bits.unexplained += is_independent && !is_equal;
  });
  std::cout << target << ", " << element_type_name(q) << ": " << bits.equal << " of " << bits.cases
            << " results have the bits of the fiber executor; " << bits.independent
            << " do not depend on expf, tanhf and logf\n";
  return bits;
}

TEST_CASE(
    "fp32 results without contraction differ from the executor's by library functions alone") {
  const Bits bits = compare_bits("sm80-uncontracted", ElementType::kFp32);
  CHECK(bits.unexplained == 0);
  if (is_full_run()) CHECK((bits.cases == 0 || bits.independent > 0));
}

TEST_CASE("negative control: with contraction, some fp32 results have other bits") {
  const Bits bits = compare_bits("sm80", ElementType::kFp32);
  CHECK((bits.cases == 0 || bits.equal < bits.cases));
}

}  // namespace
}  // namespace recto::verify
