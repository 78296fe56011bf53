// The law of gathering passes the reference's gather, and fails every gather with one fault.

#include "verify/laws/cache_operations/gather_law.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_ops.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

using Gather = void (*)(const GatherInputs& inputs);

LawReport report_of(const Gather gather) {
  const KvGatherer gatherer{.backend = "gatherer",
                            .gather = [gather](const GatherInputs& inputs) -> CallOutcome {
                              if (inputs.kv.k.block_size == 48) return Unsupported{"blocks of 48"};
                              gather(inputs);
                              return Done{};
                            }};
  Backend named;
  named.name = "gatherer";
  Backend other;
  other.name = "attention";
  return run_laws({gather_law(gatherer)}, {named, other},
                  drawn_cases({.name = "gathers", .count = 60}, {}),
                  {.failures_kept = 1, .shrinking_trials = 50});
}

void gather_nothing(const GatherInputs& /*inputs*/) {}

void gather_keys_alone(const GatherInputs& inputs) {
  GatherInputs wrong = inputs;
  wrong.kv.v = inputs.kv.k;
  wrong.v = inputs.k;
  reference::gather_kv(wrong);
}

void gather_a_row_late(const GatherInputs& inputs) {
  std::vector<std::int64_t> starts;
  for (const std::int64_t start : inputs.context_start) starts.push_back(start + 1);
  GatherInputs wrong = inputs;
  wrong.context_start = starts;
  reference::gather_kv(wrong);
}

// Writes a byte of the gap behind the first row.
void gather_beyond_rows(const GatherInputs& inputs) {
  reference::gather_kv(inputs);
  if (inputs.v.num_rows == 0) return;
  const std::int64_t row = inputs.v.num_heads * inputs.v.head_dim * element_bytes(inputs.v.type);
  static_cast<std::byte*>(inputs.v.data)[row] ^= std::byte{1};
}

TEST_CASE("the reference's gather keeps the law; backends without a gather are skipped") {
  const LawReport report = report_of(reference::gather_kv);
  INFO(report.table());
  CHECK(report.failed() == 0);
  CHECK(report.counts[0].held > 40);
  CHECK(report.counts[0].skipped.at("blocks of 48") > 0);
  CHECK(report.counts[1].ran() == 0);
  CHECK(report.counts[1].skipped.at("it gathers no contexts") > 40);
}

TEST_CASE("a gather with one fault breaks the law") {
  for (const Gather gather :
       {gather_nothing, gather_keys_alone, gather_a_row_late, gather_beyond_rows}) {
    const LawReport report = report_of(gather);
    CHECK(report.failed() > 0);
    REQUIRE(report.failures.size() == 1);
    INFO(report.failures[0]);
    CHECK((report.failures[0].find("against the reference's gather") != std::string::npos));
  }
}

}  // namespace
}  // namespace recto::verify
