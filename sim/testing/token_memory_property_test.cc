// Whatever happens to a request, its tokens are finally those that it would have had alone.

#include <map>

#include "bazel/testing/property.h"
#include "sim/request_list.h"
#include "sim/testing/scenario.h"
#include "sim/testing/scenario_generator.h"
#include "sim/testing/token_chain.h"
#include "sim/testing/token_memory.h"

namespace recto::sim {
namespace {

struct Tokens {
  std::map<TokenMemory::Key, std::uint64_t> at_end;
  std::int64_t preemptions_recompute = 0;
  std::int64_t preemptions_swap = 0;
};

Tokens run_followed(const Scenario& scenario) {
  const std::unique_ptr<Allocator> allocator = make_allocator(scenario.pool);
  RequestList source(scenario.requests);
  TokenMemory memory(*allocator, scenario.options.batching);
  const Report report =
      simulate(source, *allocator, scenario_time_model(), scenario.options, &memory).value();
  return {.at_end = memory.finished(),
          .preemptions_recompute = report.counters.preemptions_recompute,
          .preemptions_swap = report.counters.preemptions_swap};
}

void check_same_tokens(const Scenario& squeezed, Tokens& seen) {
  Scenario roomy = squeezed;
  roomy.pool.slots = TokenCount(100'000);
  const Tokens under_pressure = run_followed(squeezed);
  const Tokens at_ease = run_followed(roomy);
  RECTO_REQUIRE(at_ease.preemptions_recompute + at_ease.preemptions_swap == 0);
  RECTO_REQUIRE(under_pressure.at_end == at_ease.at_end);
  for (const auto& [key, hash] : at_ease.at_end) {
    const auto& [id, member] = key;
    const Request& request = squeezed.requests[static_cast<std::size_t>(id)];
    RECTO_REQUIRE(hash == chain_of(request, static_cast<std::int64_t>(member),
                                   request.final_context().value())
                              .back());
  }
  seen.preemptions_recompute += under_pressure.preemptions_recompute;
  seen.preemptions_swap += under_pressure.preemptions_swap;
}

TEST_CASE("a preempted request ends with the tokens of a run without preemption") {
  Tokens seen;
  property("paged", [&](Draw& draw) {
    check_same_tokens(draw_squeezed_scenario(draw, AllocatorKind::kPaged), seen);
  });
  property("prefix cache", [&](Draw& draw) {
    check_same_tokens(draw_squeezed_scenario(draw, AllocatorKind::kPrefixCached), seen);
  });
  // Counts over the property that ran.
  CHECK(seen.preemptions_recompute > 0);
  CHECK(seen.preemptions_swap > 0);
}

TEST_CASE("equal prefixes have equal chains, and different tokens different ones") {
  const auto content = [](TokenContent what) {
    return std::make_shared<const TokenContent>(std::move(what));
  };
  const Request plain{.id = 1, .prompt_tokens = TokenCount(4), .output_tokens = TokenCount(4)};
  Request other = plain;
  other.id = 2;
  CHECK(chain_of(plain, 0, 1) != chain_of(other, 0, 1));
  CHECK(chain_of(plain, 0, 4) == chain_of(plain, 1, 4));
  CHECK(chain_of(plain, 0, 5) != chain_of(plain, 1, 5));

  // A second turn repeats the first turn's prompt and output, then adds its own tokens.
  Request first = plain;
  first.content = content({.prompt_runs = {{7, TokenCount(4)}}, .output_content_id = 9});
  Request second = other;
  second.prompt_tokens = TokenCount(8);
  second.content = content({.prompt_runs = {{7, TokenCount(4)}, {9, TokenCount(3)}}});
  CHECK(chain_of(first, 0, 7) == chain_of(second, 0, 7));
  CHECK(chain_of(first, 0, 8) != chain_of(second, 0, 8));

  Request ids = plain;
  ids.content = content({.prompt_token_ids = {0, 0, 0, 0}, .output_token_ids = {0, 0, 1, 0}});
  Request longer = other;
  longer.prompt_tokens = TokenCount(6);
  longer.content = content({.prompt_token_ids = {0, 0, 0, 0, 0, 0}});
  CHECK(chain_of(ids, 0, 6) == chain_of(longer, 0, 6));
  CHECK(chain_of(ids, 0, 2).front() != chain_of(ids, 0, 2).back());
}

}  // namespace
}  // namespace recto::sim
