#include "verify/block_manager/traced_traffic.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "sim/allocators/prefix_cached_allocator.h"
#include "sim/traces/real_traces.h"
#include "sim/traces/trace_reader.h"
#include "sim/workloads/builtin_workloads.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {
namespace {

// Arrivals are this many times denser than in the trace, to load the small engine.
constexpr double kDenser = 20;

constexpr std::int32_t kMostBeams = 4;

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

std::unique_ptr<ManagedAllocator> manager_of(const Traffic& traffic,
                                             const sim::SchedulerOptions& rules) {
  const bool finds_prefixes = traffic.prefix_cache == PrefixCache::kYes;
  return ManagedAllocator::create(
             {.pool_slots = TokenCount(traffic.num_blocks * traffic.block_size),
              .block_size = TokenCount(traffic.block_size),
              .caching = finds_prefixes ? cache::PrefixCaching::kOn : cache::PrefixCaching::kOff,
              .host_pool = rules.host_pool,
              .max_sequences = rules.max_sequences,
              .max_length = rules.max_length,
              .max_width = kMostBeams})
      .value();
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

TracedTables serve(const Traffic& traffic, std::ostream& out, const ServeOptions& options) {
  const NamedSource source = source_of(traffic, out);
  const sim::SchedulerOptions rules = rules_of(traffic);
  const bool is_simulated = options.producer == TableProducer::kSimulator;
  TracedTables traced;
  std::string pool;
  if (is_simulated) {
    const std::unique_ptr<sim::PagedAllocator> allocator = allocator_of(traffic);
    traced = trace_block_tables(*source.requests, *allocator, rules, options.snapshots).value();
    pool = allocator->describe();
  } else {
    const std::unique_ptr<ManagedAllocator> manager = manager_of(traffic, rules);
    traced = trace_block_tables(*source.requests, *manager, rules, options.snapshots).value();
    pool = manager->describe() + ", by the production manager";
  }
  out << fmt::format(
      "{} on {} blocks of {}, {}, seed {}: {} requests, {} steps, {} preemptions, {} slots "
      "copied\n",
      source.name, traffic.num_blocks, traffic.block_size, pool, kTrafficSeed, traced.requests,
      traced.steps, traced.preemptions, traced.copied_slots);
  return traced;
}

}  // namespace recto::verify
