#include "sim/testing/scenario.h"

#include <algorithm>
#include <bit>

#include "core/contract.h"
#include "sim/allocators/contiguous_allocator.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/allocators/prefix_cached_allocator.h"
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

std::int64_t reservation(const PoolSpec& pool, const Request& request) {
  const std::int64_t prompt = request.prompt_tokens.value();
  const std::int64_t output = request.output_tokens.value();
  std::int64_t power = 1;
  switch (pool.kind) {
    case AllocatorKind::kContiguousMax:
      return pool.max_length.value();
    case AllocatorKind::kContiguousPow2:
      while (power < output) power *= 2;
      return std::min(prompt + power, pool.max_length.value());
    case AllocatorKind::kContiguousOracle:
      return prompt + output - 1;
    case AllocatorKind::kPaged:
    case AllocatorKind::kPrefixCached:
      break;
  }
  RECTO_UNREACHABLE("blocks are not reserved");
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

std::unique_ptr<Allocator> make_allocator(const PoolSpec& pool) {
  const auto contiguous = [&pool](ReservationRule rule) {
    return std::make_unique<ContiguousAllocator>(
        ContiguousOptions{pool.slots, rule, pool.placement, pool.max_length});
  };
  const PagedOptions paged{pool.slots, pool.block_size, pool.null_blocks};
  switch (pool.kind) {
    case AllocatorKind::kContiguousMax:
      return contiguous(ReservationRule::kMax);
    case AllocatorKind::kContiguousPow2:
      return contiguous(ReservationRule::kPow2);
    case AllocatorKind::kContiguousOracle:
      return contiguous(ReservationRule::kOracle);
    case AllocatorKind::kPaged:
      return std::make_unique<PagedAllocator>(paged);
    case AllocatorKind::kPrefixCached:
      return std::make_unique<PrefixCachedAllocator>(paged);
  }
  RECTO_UNREACHABLE("every allocator is named above");
}

const TimeModel& scenario_time_model() {
  static const LinearTimeModel kModel({100, 3, 1, 2, "made up for tests"});
  return kModel;
}

AuditOptions audit_options(const Scenario& scenario) {
  const PoolSpec pool = scenario.pool;
  return {.rules = scenario.options.scheduler,
          .batching = scenario.options.batching,
          .null_blocks = pool.null_blocks,
          .reservation = [pool](const Request& request) { return reservation(pool, request); },
          .placement = pool.placement};
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
