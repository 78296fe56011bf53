#include "verify/traced_traffic.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "sim/allocators/prefix_cached_allocator.h"
#include "sim/traces/real_traces.h"
#include "sim/traces/trace_reader.h"
#include "sim/workloads/builtin_workloads.h"

namespace recto::verify {
namespace {

// So many times more arrivals than a trace has: the engine here is a small one.
constexpr double kDenser = 20;

struct NamedSource {
  std::string name;
  std::unique_ptr<sim::RequestSource> requests;
};

NamedSource workload_of(const Traffic& traffic) {
  const WorkloadSpec& spec = traffic.workload;
  sim::SyntheticOptions options = sim::builtin_workload(spec.name).value();
  options.arrivals = sim::parse_arrivals(spec.arrivals).value();
  options.sharing = sim::parse_prefix_sharing(spec.sharing).value();
  options.decoding = sim::parse_decoding(spec.decoding).value();
  if (spec.prompts != nullptr) {
    options.prompts = sim::LengthDistribution::parse(spec.prompts).value();
  }
  options.request_count = 150;
  options.seed = kTrafficSeed;
  options.max_context = TokenCount(traffic.longest);
  return {fmt::format("{}, {}, {}, {}", spec.name, spec.arrivals, spec.sharing, spec.decoding),
          sim::SyntheticWorkload::create(std::move(options)).value()};
}

NamedSource source_of(const Traffic& traffic, std::ostream& out) {
  if (traffic.trace == nullptr) return workload_of(traffic);
  const auto path = testing::find_real_trace(traffic.trace);
  if (!path) {
    out << traffic.trace << ": " << testing::kNoRealTrace << "\n";
    return workload_of(traffic);
  }
  return {traffic.trace,
          sim::open_trace(*path, {.scale_rate = kDenser, .limit = traffic.trace_requests}).value()};
}

std::unique_ptr<sim::PagedAllocator> allocator_of(const Traffic& traffic) {
  const sim::PagedOptions pool = {.pool_slots = TokenCount(traffic.num_blocks * traffic.block_size),
                                  .block_size = TokenCount(traffic.block_size)};
  if (traffic.prefix_cache == PrefixCache::kNo) return std::make_unique<sim::PagedAllocator>(pool);
  return std::make_unique<sim::PrefixCachedAllocator>(pool);
}

sim::SchedulerOptions rules_of(const Traffic& traffic) {
  sim::SchedulerOptions rules;
  rules.max_sequences = 10;
  rules.max_batched_tokens = TokenCount(48);
  rules.admission = sim::AdmissionRule::kFirstChunk;
  rules.preemption = traffic.preemption;
  rules.host_pool = TokenCount(traffic.longest);
  rules.max_length = TokenCount(traffic.longest);
  rules.beam_switch_probability = 0.02;
  rules.seed = kTrafficSeed;
  return rules;
}

}  // namespace

TracedTables serve(const Traffic& traffic, std::ostream& out) {
  const NamedSource source = source_of(traffic, out);
  const std::unique_ptr<sim::PagedAllocator> allocator = allocator_of(traffic);
  const TracedTables traced =
      trace_block_tables(*source.requests, *allocator, rules_of(traffic), {}).value();
  out << fmt::format(
      "{} on {} blocks of {}, {}, seed {}: {} requests, {} steps, {} preemptions, {} slots "
      "copied\n",
      source.name, traffic.num_blocks, traffic.block_size, allocator->describe(), kTrafficSeed,
      traced.requests, traced.steps, traced.preemptions, traced.copied_slots);
  return traced;
}

}  // namespace recto::verify
