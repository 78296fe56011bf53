// Every law on every backend of the reference, over cases drawn with a fixed seed: many short ones,
// and a few with long contexts. They pass within the probabilistic bounds, hence within the
// worst-case ones. RECTO_CASE=short or RECTO_CASE=long selects one of the two sets,
// RECTO_CASE=short:NUMBER one case.

#include "verify/laws/laws.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

// Cases of one kind, and to how many of them each law must apply.
struct LawDomain {
  DrawnCases drawn;
  std::int64_t least_cases = 0;      // for a backend that supports all types
  std::int64_t least_of_a_type = 0;  // for a backend that supports one type of q
};

LawDomain short_contexts() {
  LawDomain domain{.drawn = {.name = "short", .count = 100, .times_full = 30, .stream = "laws"},
                   .least_cases = 13,
                   .least_of_a_type = 2};
  domain.drawn.domain.head_dims = {1, 2, 3, 5, 8, 16};
  domain.drawn.domain.groups = {1, 2, 3, 4};
  domain.drawn.domain.num_seqs_max = 3;
  domain.drawn.domain.num_kv_heads_max = 2;
  domain.drawn.domain.num_rows_max = 6;
  return domain;
}

// Several tiles, splits and large blocks; families whose values span many magnitudes are more
// frequent than plain ones.
LawDomain long_contexts() {
  LawDomain domain{.drawn = {.name = "long", .count = 20, .stream = "laws of long contexts"},
                   .least_cases = 3,
                   .least_of_a_type = 1};
  // fp32 has one type of cache, fp16 and bf16 have three each.
  domain.drawn.domain.types.push_back({ElementType::kFp32, ElementType::kFp32});
  domain.drawn.domain.types.push_back({ElementType::kFp32, ElementType::kFp32});
  domain.drawn.domain.rows = {RowsKind::kDecode, RowsKind::kChunk};
  domain.drawn.domain.head_dims = {2, 3, 5, 8};
  domain.drawn.domain.groups = {1, 2, 3};
  domain.drawn.domain.block_sizes = {1, 2, 4, 8, 16, 32, 48, 64, 128, 256};
  domain.drawn.domain.tile_sizes = {64, 128};
  domain.drawn.domain.num_seqs_max = 2;
  domain.drawn.domain.num_kv_heads_max = 2;
  domain.drawn.domain.num_rows_max = 3;
  domain.drawn.domain.context_max = 700;
  for (const FloatFamily family : {FloatFamily::kHeavyTail, FloatFamily::kLargeOffset,
                                   FloatFamily::kDenormals, FloatFamily::kDominatingKey}) {
    domain.drawn.domain.families.push_back(family);
  }
  return domain;
}

constexpr const char* kDecodeStep = "decode-step-fp64";

bool takes_all(const std::string& backend) {
  return backend == "naive-fp64" || backend == "online-fp64";
}

// Only online attention and the low-precision runs have states to merge, and no fp64 backend
// splits. A decode step has one row (nothing to chunk), a non-empty context, and a cache that is
// copied before it runs.
bool is_put_to(const std::string& law, const std::string& backend) {
  const bool merges = law.rfind("merge_", 0) == 0;
  if (backend == kDecodeStep) {
    return !merges && law != "split_size" && law != "chunking" && law != "zero_context" &&
           law != "relocation";
  }
  if (backend == "naive-fp64" && merges) return false;
  return law != "split_size" || !takes_all(backend);
}

void check_laws(const LawDomain& domain) {
  const Result<CaseChoice> asked = asked_cases({short_contexts().drawn, long_contexts().drawn});
  REQUIRE(asked.status() == Status::ok());
  if (!asked.value().includes(domain.drawn)) return;
  std::vector<Law> laws = all_laws();
  laws.push_back(oracle_comparison());
  const LawReport report =
      run_laws(laws, reference_backends(), drawn_cases(domain.drawn, asked.value()),
               {.bound_kind = BoundKind::kProbabilistic});
  std::cout << domain.drawn.name << " contexts\n";
  report.print(std::cout);
  CHECK(report.failed() == 0);
  if (asked.value().number) return;
  CHECK(report.passed());
  for (const LawCount& count : report.counts) {
    INFO(count.law << " on " << count.backend);
    const std::int64_t least =
        takes_all(count.backend) ? domain.least_cases : domain.least_of_a_type;
    // The first cases may have more than their share: of more cases, half as many are asked.
    const auto factor = static_cast<std::int64_t>(domain.drawn.factor_here());
    if (is_put_to(count.law, count.backend))
      CHECK(count.ran() >= std::max(least, factor * least / 2));
    else
      CHECK(count.ran() == 0);
  }
}

TEST_CASE("every backend of the reference keeps every law and agrees with the oracle") {
  check_laws(short_contexts());
}

TEST_CASE("the laws hold for long contexts") { check_laws(long_contexts()); }

TEST_CASE("the long contexts are several times as long as any short one") {
  const LawDomain domain = long_contexts();
  std::int64_t long_ones = 0;
  for (std::uint64_t number = 0; number < domain.drawn.count; ++number) {
    if (drawn_spec(domain.drawn, number).longest_context() >
        3 * short_contexts().drawn.domain.context_max)
      ++long_ones;
  }
  CHECK(long_ones >= static_cast<std::int64_t>(domain.drawn.count) / 2);
}

TEST_CASE("every law has a name of its own and a statement") {
  std::set<std::string> names;
  for (const Law& law : all_laws()) {
    CHECK(names.insert(law.name).second);
    CHECK_FALSE(law.statement.empty());
  }
  CHECK(names.size() == 24);
}

}  // namespace
}  // namespace recto::verify
