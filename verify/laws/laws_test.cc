// Every law on every backend of the reference, over cases drawn by a fixed seed: many short ones,
// and a few of long contexts. They pass within the sharp bounds, hence within the hard ones.
// RECTO_LAW_DOMAIN=short or long keeps to one of the two; RECTO_LAW_CASE=NUMBER with it tries one
// case alone.

#include "verify/laws/laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/drawn_case.h"
#include "verify/generators/case_generator.h"
#include "verify/law_runner.h"
#include "verify/oracle_comparison.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kSeed = 2026;

// Cases of one kind, and how many of them each law must at least say something of.
struct LawDomain {
  std::string name;    // as in RECTO_LAW_DOMAIN
  std::string stream;  // of its random numbers
  CaseDomain cases;
  std::uint64_t count = 0;           // ten times as many with RECTO_FULL
  std::int64_t least_cases = 0;      // on a backend that takes all types
  std::int64_t least_of_a_type = 0;  // where a backend takes one type of q
};

LawDomain short_contexts() {
  LawDomain domain{.name = "short",
                   .stream = "laws",
                   .cases = {},
                   .count = 300,
                   .least_cases = 40,
                   .least_of_a_type = 8};
  domain.cases.head_dims = {1, 2, 3, 5, 8, 16};
  domain.cases.groups = {1, 2, 3, 4};
  domain.cases.num_seqs_max = 3;
  domain.cases.num_kv_heads_max = 2;
  domain.cases.num_rows_max = 6;
  return domain;
}

// Several tiles, splits and large blocks; families whose values span many magnitudes come more
// often than plain ones.
LawDomain long_contexts() {
  LawDomain domain{.name = "long",
                   .stream = "laws of long contexts",
                   .cases = {},
                   .count = 20,
                   .least_cases = 3,
                   .least_of_a_type = 1};
  // fp32 has one type of cache, fp16 and bf16 have three each.
  domain.cases.types.push_back({ElementType::kFp32, ElementType::kFp32});
  domain.cases.types.push_back({ElementType::kFp32, ElementType::kFp32});
  domain.cases.rows = {RowsKind::kDecode, RowsKind::kChunk};
  domain.cases.head_dims = {2, 3, 5, 8};
  domain.cases.groups = {1, 2, 3};
  domain.cases.block_sizes = {1, 2, 4, 8, 16, 32, 48, 64, 128, 256};
  domain.cases.tile_sizes = {64, 128};
  domain.cases.num_seqs_max = 2;
  domain.cases.num_kv_heads_max = 2;
  domain.cases.num_rows_max = 3;
  domain.cases.context_max = 700;
  for (const FloatFamily family : {FloatFamily::kHeavyTail, FloatFamily::kLargeOffset,
                                   FloatFamily::kDenormals, FloatFamily::kDominatingKey}) {
    domain.cases.families.push_back(family);
  }
  return domain;
}

CaseSpec numbered_spec(const LawDomain& domain, std::uint64_t number) {
  RandomStream stream = RandomStream(kSeed).split(domain.stream).split(number);
  return draw_case(stream, domain.cases);
}

DescribedCase numbered_case(const LawDomain& domain, std::uint64_t number) {
  return drawn_case(numbered_spec(domain, number),
                    fmt::format("./bazelw test --test_env=RECTO_LAW_DOMAIN={} "
                                "--test_env=RECTO_LAW_CASE={} //verify/laws:laws_test",
                                domain.name, number));
}

struct Numbers {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Those of the whole run: the number of one case asked for, or all.
Numbers numbers_asked_for(const LawDomain& domain) {
  if (const char* number = std::getenv("RECTO_LAW_CASE")) {
    const std::uint64_t one = std::strtoull(number, nullptr, 10);
    return {one, one + 1};
  }
  return {0, std::getenv("RECTO_FULL") == nullptr ? domain.count : 10 * domain.count};
}

CaseSource cases(const LawDomain& domain, Numbers numbers) {
  return
      [&domain, next = numbers.begin, end = numbers.end]() mutable -> std::optional<DescribedCase> {
        if (next == end) return std::nullopt;
        return numbered_case(domain, next++);
      };
}

// A number alone could be of either domain.
bool is_asked_for(const LawDomain& domain) {
  const char* name = std::getenv("RECTO_LAW_DOMAIN");
  if (name == nullptr) {
    if (std::getenv("RECTO_LAW_CASE") != nullptr)
      FAIL("RECTO_LAW_CASE: expected RECTO_LAW_DOMAIN=short or long with it, got none");
    return true;
  }
  const std::string asked = name;
  if (asked != "short" && asked != "long")
    FAIL("RECTO_LAW_DOMAIN: expected short or long, got " << asked);
  return asked == domain.name;
}

constexpr const char* kDecodeStep = "decode-step-fp64";

bool takes_all(const std::string& backend) {
  return backend == "naive-fp64" || backend == "online-fp64";
}

// Only online attention and the low-precision runs have states to merge, and no fp64 backend
// splits. A decode step has one row, so that there is nothing to cut in chunks, and a context.
bool is_put_to(const std::string& law, const std::string& backend) {
  const bool merges = law.rfind("merge_", 0) == 0;
  if (backend == kDecodeStep)
    return !merges && law != "split_size" && law != "chunking" && law != "zero_context";
  if (backend == "naive-fp64" && merges) return false;
  return law != "split_size" || !takes_all(backend);
}

void check_laws(const LawDomain& domain) {
  std::vector<Law> laws = all_laws();
  laws.push_back(oracle_comparison());
  const LawReport report =
      run_laws(laws, reference_backends(), cases(domain, numbers_asked_for(domain)),
               {.bound_kind = BoundKind::kSharp});
  std::cout << domain.name << " contexts\n";
  report.print(std::cout);
  CHECK(report.failed() == 0);
  if (std::getenv("RECTO_LAW_CASE") != nullptr) return;
  CHECK(report.passed());
  for (const LawCount& count : report.counts) {
    INFO(count.law << " on " << count.backend);
    const std::int64_t least =
        takes_all(count.backend) ? domain.least_cases : domain.least_of_a_type;
    if (is_put_to(count.law, count.backend))
      CHECK(count.ran() >= least);
    else
      CHECK(count.ran() == 0);
  }
}

TEST_CASE("every law, and the oracle, hold of every backend of the reference") {
  const LawDomain domain = short_contexts();
  if (is_asked_for(domain)) check_laws(domain);
}

TEST_CASE("they hold of long contexts") {
  const LawDomain domain = long_contexts();
  if (is_asked_for(domain)) check_laws(domain);
}

TEST_CASE("the long contexts are several times as long as any short one") {
  const LawDomain domain = long_contexts();
  std::int64_t long_ones = 0;
  for (std::uint64_t number = 0; number < domain.count; ++number) {
    if (numbered_spec(domain, number).longest_context() > 3 * short_contexts().cases.context_max)
      ++long_ones;
  }
  CHECK(long_ones >= static_cast<std::int64_t>(domain.count) / 2);
}

TEST_CASE("laws have different names, and a statement each") {
  std::set<std::string> names;
  for (const Law& law : all_laws()) {
    CHECK(names.insert(law.name).second);
    CHECK_FALSE(law.statement.empty());
  }
  CHECK(names.size() == 20);
}

}  // namespace
}  // namespace recto::verify
