// The law of an engine's block tables passes for the reference, and fails for backends that read
// tables in a wrong way.

#include "verify/block_manager/engine_tables_law.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/paged_attention.h"
#include "verify/backend.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

Backend naive() {
  std::vector<Backend> all = reference_backends();
  const auto found = std::ranges::find(all, std::string("naive-fp64"), &Backend::name);
  REQUIRE(found != all.end());
  return *found;
}

LawReport report_of(const Backend& backend) {
  DrawnCases cases{.name = "tables", .count = 12, .times_full = 1};
  cases.domain.num_kv_heads_max = 2;
  return run_laws({engine_tables_law()}, {backend}, drawn_cases(cases, {}),
                  {.failures_kept = 1, .shrinking_trials = 20});
}

TEST_CASE("the reference keeps the law, and so does a backend that takes one row per sequence") {
  const LawReport report = report_of(naive());
  INFO(report.table());
  CHECK(report.passed());
  CHECK(report.counts[0].held == 12);
  Backend decode = naive();
  decode.refusal = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return inputs.q.num_rows == std::ssize(inputs.context_length)
               ? std::nullopt
               : std::optional<std::string>("not exactly one query row per sequence");
  };
  const LawReport decoding = report_of(decode);
  INFO(decoding.table());
  CHECK(decoding.failed() == 0);
  CHECK(decoding.counts[0].held >= 10);
}

TEST_CASE("each case calls the backend with a step of each of the two block managers") {
  Backend counting = naive();
  std::int64_t calls = 0;
  counting.attend = [right = naive(), &calls](const PagedAttentionInputs& inputs,
                                              const CallOptions& options) {
    ++calls;
    return right.call(inputs, options);
  };
  const LawReport report = report_of(counting);
  CHECK(report.passed());
  CHECK(calls == 2 * report.counts[0].held);
}

TEST_CASE("a backend that takes block ids to ascend is caught") {
  Backend faulty = naive();
  faulty.attend = [right = naive()](const PagedAttentionInputs& inputs, const CallOptions&) {
    PagedAttentionInputs sorted = inputs;
    const BlockTableView& table = inputs.block_table;
    std::vector<std::int32_t> ids(table.data, table.data + table.num_seqs * table.row_stride);
    for (std::int64_t s = 0; s < table.num_seqs; ++s) {
      const std::int64_t length = inputs.context_length[static_cast<std::size_t>(s)];
      const auto row = ids.begin() + s * table.row_stride;
      std::sort(row, row + (length + inputs.kv.k.block_size - 1) / inputs.kv.k.block_size);
    }
    sorted.block_table.data = ids.data();
    return right.call(sorted);
  };
  const LawReport report = report_of(faulty);
  CHECK(report.failed() > 0);
  REQUIRE(report.failures.size() == 1);
  INFO(report.failures[0]);
  CHECK((report.failures[0].find("against the oracle, in step ") != std::string::npos));
  CHECK((report.failures[0].find(" of an engine with the ") != std::string::npos));
}

}  // namespace
}  // namespace recto::verify
