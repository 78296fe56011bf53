// Backends without lse: every law holds on right ones, and what lse does not show alone is found.

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/law_runner.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

DrawnCases small_cases(std::uint64_t count) {
  DrawnCases drawn{.name = "small", .count = count, .times_full = 10};
  drawn.domain.head_dims = {1, 2, 3, 5, 8};
  drawn.domain.groups = {1, 2, 3};
  drawn.domain.num_seqs_max = 3;
  drawn.domain.num_kv_heads_max = 2;
  drawn.domain.num_rows_max = 5;
  drawn.domain.context_max = 50;
  return drawn;
}

Backend without_lse_ln(Backend backend) {
  backend.state_merge.reset();
  backend.attend = [attend = backend.attend](const PagedAttentionInputs& inputs,
                                             const CallOptions& options) {
    CallOutcome outcome = attend(inputs, options);
    if (auto* const done = std::get_if<Done>(&outcome)) done->result.lse_ln.clear();
    return outcome;
  };
  return backend;
}

Backend named(const std::string& name) {
  const std::vector<Backend> backends = reference_backends();
  return *std::ranges::find(backends, name, &Backend::name);
}

std::vector<Law> laws_and_oracle() {
  std::vector<Law> laws = all_laws();
  laws.push_back(oracle_comparison());
  return laws;
}

TEST_CASE("right backends without lse pass all laws, which apply to them as to others") {
  const Backend right = named("naive-fp64");
  const auto run = [](const Backend& backend) {
    return run_laws(laws_and_oracle(), {backend}, drawn_cases(small_cases(60), {}), {});
  };
  const LawReport with = run(right);
  const LawReport without = run(without_lse_ln(right));
  INFO(without.table());
  CHECK(without.passed());
  for (std::size_t i = 0; i < with.counts.size(); ++i) {
    const LawCount& count = without.counts[i];
    CAPTURE(count.law);
    if (count.law.starts_with("merge_")) continue;
    // A sink's share of the weights follows from lse alone.
    if (count.law != "ones_give_one") CHECK(count.ran() == with.counts[i].ran());
    CHECK((with.counts[i].ran() == 0 || count.ran() > 0));
    CHECK(count.elements <= with.counts[i].elements);
  }
}

// A backend says for each call whether it gives lse.
Backend with_lse_ln_where(Backend backend,
                          const std::function<bool(const PagedAttentionInputs&)>& gives_lse_ln) {
  const Backend without = without_lse_ln(backend);
  backend.state_merge.reset();
  backend.attend = [=, with = backend.attend](const PagedAttentionInputs& inputs,
                                              const CallOptions& options) {
    return gives_lse_ln(inputs) ? with(inputs, options) : without.attend(inputs, options);
  };
  return backend;
}

TEST_CASE("right backends that give lse for only some calls pass all laws") {
  const auto is_full = [](const PagedAttentionInputs& inputs) {
    return std::ranges::count(inputs.context_length, 0) == 0;
  };
  const auto has_even_rows = [](const PagedAttentionInputs& inputs) {
    return inputs.q.num_rows % 2 == 0;
  };
  for (const Backend& backend : {with_lse_ln_where(named("naive-fp64"), is_full),
                                 with_lse_ln_where(named("naive-fp64"), has_even_rows)}) {
    const LawReport report =
        run_laws(laws_and_oracle(), {backend}, drawn_cases(small_cases(60), {}), {});
    INFO(report.table());
    CHECK(report.passed());
    CHECK(report.untried_backends().empty());
  }
}

TEST_CASE("a window that is one key too wide is found without lse") {
  Backend wrong = without_lse_ln(named("naive-fp64"));
  wrong.attend = [attend = wrong.attend](PagedAttentionInputs inputs, const CallOptions& options) {
    if (inputs.options.window) ++*inputs.options.window;
    return attend(inputs, options);
  };
  const LawReport report =
      run_laws({oracle_comparison()}, {wrong}, drawn_cases(small_cases(60), {}), {});
  CHECK(report.failed() > 0);
}

}  // namespace
}  // namespace recto::verify
