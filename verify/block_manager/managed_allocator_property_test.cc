// The simulator on the production manager and on its own allocators, over random small simulations:
// gauges after every event, reports, and the manager's own accounts must agree.

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/property.h"
#include "sim/request_list.h"
#include "sim/testing/scenario.h"
#include "sim/testing/scenario_generator.h"
#include "verify/block_manager/account_audit.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {
namespace {

using sim::AllocatorKind;
using sim::Scenario;

// Counts over all cases of the first test case.
AuditCounts& seen() {
  static AuditCounts counts;
  return counts;
}

std::unique_ptr<ManagedAllocator> managed(const Scenario& scenario) {
  const sim::SchedulerOptions& rules = scenario.options.scheduler;
  const bool is_caching = scenario.pool.kind == AllocatorKind::kPrefixCached;
  ManagedOptions options{
      .pool_slots = scenario.pool.slots,
      .block_size = scenario.pool.block_size,
      .null_blocks = scenario.pool.null_blocks,
      .caching = is_caching ? cache::PrefixCaching::kOn : cache::PrefixCaching::kOff,
      .host_pool = rules.host_pool,
      .watermark = rules.watermark,
      .max_sequences = rules.max_sequences,
      .max_length = rules.max_length};
  for (const sim::Request& request : scenario.requests) {
    options.max_width = std::max(options.max_width, request.width);
  }
  return ManagedAllocator::create(options).value();
}

// Records all gauges at every event.
class GaugeLog final : public sim::SimulationObserver {
 public:
  explicit GaugeLog(sim::SimulationObserver* next = nullptr) : next_(next) {}

  void on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler,
                 SimTime now) override {
    events_.emplace_back(now, gauges);
    if (next_ != nullptr) next_->on_gauges(gauges, scheduler, now);
  }
  void on_preempted(const sim::SequenceGroup& group, sim::PreemptionKind kind,
                    SimTime now) override {
    if (next_ != nullptr) next_->on_preempted(group, kind, now);
  }

  const std::vector<std::pair<SimTime, sim::GaugeValues>>& events() const { return events_; }

 private:
  sim::SimulationObserver* next_;
  std::vector<std::pair<SimTime, sim::GaugeValues>> events_;
};

// The first difference; empty if there is none.
std::string first_difference(const GaugeLog& found, const GaugeLog& expected) {
  const std::size_t events = std::min(found.events().size(), expected.events().size());
  for (std::size_t i = 0; i < events; ++i) {
    const auto& [now, gauges] = found.events()[i];
    const auto& [then, wanted] = expected.events()[i];
    if (now != then) return fmt::format("event {} at {}, not {}", i, now.value(), then.value());
    for (const sim::GaugeInfo& info : sim::kGauges) {
      if (gauges[info.gauge] == wanted[info.gauge]) continue;
      return fmt::format("at {}: {} = {}, not {}", now.value(), info.name, gauges[info.gauge],
                         wanted[info.gauge]);
    }
  }
  if (found.events().size() == expected.events().size()) return "";
  return fmt::format("{} events, not {}", found.events().size(), expected.events().size());
}

void check_agreement(const Scenario& scenario) {
  GaugeLog expected;
  const sim::Report report = run_scenario(scenario, &expected);

  const std::unique_ptr<ManagedAllocator> allocator = managed(scenario);
  sim::RequestList source(scenario.requests);
  AccountAudit audit(*allocator, seen(), InvariantChecks::kAfterEachEvent);
  GaugeLog found(&audit);
  const Result<sim::Report> managed_report =
      sim::simulate(source, *allocator, sim::scenario_time_model(), scenario.options, &found);
  RECTO_REQUIRE(managed_report.is_ok());
  RECTO_REQUIRE(first_difference(found, expected) == "");
  RECTO_REQUIRE(managed_report.value() == report);
  audit.finish(managed_report.value());
}

// Gives all requests the same tokens, outputs included.
void repeat_tokens(Scenario& scenario) {
  const auto content = std::make_shared<const sim::TokenContent>(
      sim::TokenContent{.prompt_runs = {{1, TokenCount(1000)}}, .output_content_id = 2});
  for (sim::Request& request : scenario.requests) request.content = content;
}

TEST_CASE("the production manager gives the simulator's reports") {
  property("paged",
           [](Draw& draw) { check_agreement(sim::draw_scenario(draw, AllocatorKind::kPaged)); });
  property("paged, under pressure", [](Draw& draw) {
    check_agreement(sim::draw_squeezed_scenario(draw, AllocatorKind::kPaged));
  });
  property("prefix cache", [](Draw& draw) {
    check_agreement(sim::draw_scenario(draw, AllocatorKind::kPrefixCached));
  });
  property("prefix cache, under pressure", [](Draw& draw) {
    check_agreement(sim::draw_squeezed_scenario(draw, AllocatorKind::kPrefixCached));
  });
  property("prefix cache, repeated tokens", [](Draw& draw) {
    Scenario scenario = sim::draw_squeezed_scenario(draw, AllocatorKind::kPrefixCached);
    repeat_tokens(scenario);
    check_agreement(scenario);
  });
}

TEST_CASE("the compared simulations met everything that can happen") {
  const AuditCounts& counts = seen();
  if (counts.events == 0) RECTO_SKIP("the cases before were filtered out");
  const std::vector<std::pair<const char*, std::int64_t>> all = {
      {"preemptions by recompute", counts.preemptions_recompute},
      {"preemptions by swap", counts.preemptions_swap},
      {"members that were swapped with room", counts.swapped_room},
      {"events with reserved slots on the host", counts.reserved_on_host},
      {"evicted blocks", counts.evicted},
      {"duplicate blocks", counts.duplicates},
      {"hit tokens", counts.hits},
      {"copied slots", counts.copied},
      {"events with slots out of the window", counts.out_of_window},
      {"events with a blocked head", counts.blocked},
  };
  std::cout << counts.events << " events";
  for (const auto& [what, count] : all) {
    std::cout << ", " << count << " " << what;
    INFO(what);
    CHECK(count > 0);
  }
  std::cout << std::endl;
}

}  // namespace
}  // namespace recto::verify
