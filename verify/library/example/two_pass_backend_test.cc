// Your own backend: every law, and the oracle, on cases drawn for what it supports.

#include "verify/library/example/two_pass_backend.h"

#include <iostream>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/law_runner.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

DrawnCases plain_cases() {
  DrawnCases cases{.name = "plain", .count = 100};
  cases.domain.types = {{ElementType::kFp32, ElementType::kFp32}};
  cases.domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  cases.domain.head_dims = {1, 2, 3, 5, 8, 16};
  cases.domain.groups = {1, 2, 3};
  cases.domain.num_seqs_max = 3;
  cases.domain.num_kv_heads_max = 2;
  cases.domain.num_rows_max = 4;
  cases.domain.has_softcap = cases.domain.has_alibi = cases.domain.has_sinks = false;
  return cases;
}

std::vector<Law> laws_and_oracle() {
  std::vector<Law> laws = all_laws();
  laws.push_back(oracle_comparison());
  return laws;
}

TEST_CASE("the two-pass backend keeps every law and agrees with the oracle") {
  const Result<CaseChoice> asked = asked_cases({plain_cases()});
  REQUIRE(asked.status() == Status::ok());
  const LawReport report = run_laws(laws_and_oracle(), {two_pass_backend()},
                                    drawn_cases(plain_cases(), asked.value()), {});
  report.print(std::cout);
  CHECK(report.passed());
}

TEST_CASE("a window that is one key too wide is found, shrunk and printed") {
  Backend faulty = two_pass_backend();
  faulty.attend = [](PagedAttentionInputs inputs, const CallOptions&) {
    if (inputs.options.window) ++*inputs.options.window;
    return two_pass_backend().call(inputs);
  };
  const LawReport report = run_laws({oracle_comparison()}, {faulty}, drawn_cases(plain_cases(), {}),
                                    {.failures_kept = 1});
  CHECK_FALSE(report.passed());
  REQUIRE(report.failures.size() == 1);
  std::cout << "what a fault looks like\n" << report.failures.front();
}

}  // namespace
}  // namespace recto::verify
