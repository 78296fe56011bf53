#include "experiments/support/run.h"

#include <memory>
#include <utility>

#include "experiments/support/request_source.h"
#include "experiments/support/resolved_run.h"

namespace recto::experiments {

Result<RunOutcome> run(const RunConfig& config, sim::SimulationObserver* observer) {
  const Result<ResolvedRun> resolved = resolve(config);
  RECTO_RETURN_IF_ERROR(resolved.status());
  const Result<std::unique_ptr<sim::TimeModel>> time_model = make_time_model(resolved.value());
  RECTO_RETURN_IF_ERROR(time_model.status());
  const Result<TimeModelFacts> facts = time_model_facts(config);
  RECTO_RETURN_IF_ERROR(facts.status());
  Result<OpenedSource> source = open_source(config);
  RECTO_RETURN_IF_ERROR(source.status());
  const Result<std::unique_ptr<sim::Allocator>> allocator = make_allocator(resolved.value());
  RECTO_RETURN_IF_ERROR(allocator.status());
  Result<sim::Report> report =
      sim::simulate(*source.value().requests, *allocator.value(), *time_model.value(),
                    resolved.value().options, observer);
  RECTO_RETURN_IF_ERROR(report.status());
  RunOutcome outcome;
  outcome.report = std::move(report).value();
  outcome.time_model = facts.value();
  outcome.window_tokens = resolved.value().options.scheduler.window.value();
  if (const sim::TraceReader* trace = source.value().trace; trace != nullptr) {
    const sim::TraceCounters counters = trace->counters();
    outcome.skipped_rows = counters.skipped_rows;
    outcome.failed_requests = counters.failed_requests;
    outcome.warnings = trace->warnings();
  }
  return outcome;
}

}  // namespace recto::experiments
