#include "sim/testing/scenario.h"

#include <memory>

#include "sim/request_list.h"
#include "sim/time/linear_time_model.h"

namespace recto::sim {
namespace {

void print_content(std::ostream& out, const TokenContent& content) {
  for (const ContentRun& run : content.prompt_runs) {
    out << " run " << run.content_id << "*" << run.length;
  }
  if (!content.prompt_token_ids.empty()) out << " ids";
  for (const std::int32_t id : content.prompt_token_ids) out << " " << id;
  if (!content.output_token_ids.empty()) out << " ->";
  for (const std::int32_t id : content.output_token_ids) out << " " << id;
  if (content.output_content_id) out << " output run " << *content.output_content_id;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
  const PoolSpec& pool = scenario.pool;
  const SchedulerOptions& rules = scenario.options.scheduler;
  out << make_allocator(pool)->describe() << ", " << pool.slots << " slots, " << pool.null_blocks
      << " null blocks, longest " << pool.max_length
      << (scenario.options.batching == Batching::kStatic ? ", static" : "") << "\n  sequences "
      << rules.max_sequences << ", tokens " << rules.max_batched_tokens << ", watermark "
      << rules.watermark << ", host " << rules.host_pool << ", longest " << rules.max_length
      << ", window " << rules.window << ", beam switches " << rules.beam_switch_probability
      << ", seed " << rules.seed
      << (rules.prefill == PrefillRule::kWhole ? ", whole prompts" : ", chunks")
      << (rules.admission == AdmissionRule::kFirstChunk ? ", admits chunks" : "")
      << (rules.preemption == PreemptionRule::kSwap ? ", swaps" : "");
  for (const Request& request : scenario.requests) {
    out << "\n  " << request.id << " at " << request.arrival << ": " << request.prompt_tokens
        << " -> " << request.output_tokens;
    if (request.width > 1) {
      out << (request.decoding == Decoding::kBeam ? " beams " : " samples ") << request.width;
    }
    if (request.content) print_content(out, *request.content);
  }
  return out << "\n";
}

const TimeModel& scenario_time_model() {
  static const LinearTimeModel kModel({100, 3, 1, 2, "made up for tests"});
  return kModel;
}

AuditOptions audit_options(const Scenario& scenario) {
  return {.rules = scenario.options.scheduler,
          .batching = scenario.options.batching,
          .pool = scenario.pool};
}

Report run_scenario(const Scenario& scenario, SimulationObserver* observer) {
  const std::unique_ptr<Allocator> allocator = make_allocator(scenario.pool);
  RequestList source(scenario.requests);
  return simulate(source, *allocator, scenario_time_model(), scenario.options, observer).value();
}

Report run_audited(const Scenario& scenario, CoverageEvents& coverage) {
  const std::unique_ptr<Allocator> allocator = make_allocator(scenario.pool);
  RequestList source(scenario.requests);
  Audit audit(*allocator, audit_options(scenario), coverage);
  Report report =
      simulate(source, *allocator, scenario_time_model(), scenario.options, &audit).value();
  coverage.add(report);
  return report;
}

}  // namespace recto::sim
