#include "verify/block_manager/engine_tables_law.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/dense_kv_view.h"
#include "sim/allocators/prefix_cached_allocator.h"
#include "sim/workloads/builtin_workloads.h"
#include "verify/block_manager/managed_allocator.h"
#include "verify/block_manager/placed_tables.h"
#include "verify/block_manager/trace_block_tables.h"
#include "verify/law.h"

namespace recto::verify {
namespace {

// Small enough for the executor to run quickly.
constexpr std::int64_t kLongest = 120;
constexpr std::uint64_t kSeed = 2026;

struct Engine {
  const char* sharing;
  const char* decoding;
  std::int64_t num_blocks;
  std::int64_t block_size;
  sim::PreemptionRule preemption;
};

// Pools that hold about four sequences, so that most sequences are preempted.
constexpr Engine kEngines[] = {
    {"none", "single", 30, 16, sim::PreemptionRule::kRecompute},
    {"templates:count=2,tokens=40", "parallel:3", 120, 4, sim::PreemptionRule::kSwap},
    {"none", "beam:3", 60, 8, sim::PreemptionRule::kRecompute}};

std::unique_ptr<sim::RequestSource> requests_of(const Engine& engine) {
  sim::SyntheticOptions options = sim::builtin_workload("alpaca-like").value();
  options.arrivals = sim::parse_arrivals("poisson:20").value();
  options.sharing = sim::parse_prefix_sharing(engine.sharing).value();
  options.decoding = sim::parse_decoding(engine.decoding).value();
  options.request_count = 150;
  options.seed = kSeed;
  options.max_context = TokenCount(kLongest);
  return sim::SyntheticWorkload::create(std::move(options)).value();
}

sim::SchedulerOptions rules_of(const Engine& engine) {
  sim::SchedulerOptions rules;
  rules.max_sequences = 8;
  rules.max_batched_tokens = TokenCount(24);
  rules.admission = sim::AdmissionRule::kFirstChunk;
  rules.preemption = engine.preemption;
  rules.host_pool = TokenCount(kLongest);
  rules.max_length = TokenCount(kLongest);
  rules.beam_switch_probability = 0.1;
  rules.seed = kSeed;
  return rules;
}

std::vector<TableSnapshot> snapshots_of(const Engine& engine) {
  const std::unique_ptr<sim::RequestSource> requests = requests_of(engine);
  sim::PrefixCachedAllocator allocator(
      {.pool_slots = TokenCount(engine.num_blocks * engine.block_size),
       .block_size = TokenCount(engine.block_size)});
  return trace_block_tables(*requests, allocator, rules_of(engine), {}).value().snapshots;
}

// The same with the production manager.
std::vector<TableSnapshot> managed_snapshots_of(const Engine& engine) {
  const std::unique_ptr<sim::RequestSource> requests = requests_of(engine);
  const sim::SchedulerOptions rules = rules_of(engine);
  const std::unique_ptr<ManagedAllocator> allocator =
      ManagedAllocator::create({.pool_slots = TokenCount(engine.num_blocks * engine.block_size),
                                .block_size = TokenCount(engine.block_size),
                                .caching = cache::PrefixCaching::kOn,
                                .host_pool = rules.host_pool,
                                .max_sequences = rules.max_sequences,
                                .max_length = rules.max_length,
                                .max_width = 3})
          .value();
  return trace_block_tables(*requests, *allocator, rules, {}).value().snapshots;
}

using SnapshotsOf = std::vector<TableSnapshot> (*)(const Engine& engine);

std::vector<TableSnapshot> snapshots_of_all(SnapshotsOf snapshots_of_one) {
  std::vector<TableSnapshot> all;
  for (const Engine& engine : kEngines) {
    std::vector<TableSnapshot> snapshots = snapshots_of_one(engine);
    all.insert(all.end(), snapshots.begin(), snapshots.end());
  }
  return all;
}

struct TablesOf {
  const char* manager;
  std::vector<TableSnapshot> steps;
};

const std::vector<TablesOf>& all_tables() {
  static const std::vector<TablesOf> kTables = {
      {"the simulator's allocator", snapshots_of_all(snapshots_of)},
      {"the production block manager", snapshots_of_all(managed_snapshots_of)}};
  return kTables;
}

// K and V both have the head dim of K. The layout is token-major if the case's layout does not
// support the shape.
TableCallShape shape_of(const LawCase& law_case) {
  const ProblemShape& shape = law_case.problem.shape;
  TableCallShape call = {.layout = law_case.placement.layout,
                         .q_type = shape.q_type,
                         .kv_type = shape.kv_type,
                         .num_q_heads = shape.num_q_heads,
                         .num_kv_heads = shape.num_kv_heads,
                         .head_dim = shape.head_dim_k};
  const KvPoolShape pool = {.layout = call.layout,
                            .type = call.kv_type,
                            .num_blocks = 1,
                            .block_size = 1,
                            .num_kv_heads = call.num_kv_heads,
                            .head_dim_k = call.head_dim,
                            .head_dim_v = call.head_dim};
  if (!count_pool_elements(pool).is_ok()) call.layout = KvLayout::kTokenMajor;
  return call;
}

LawVerdict check_tables(const Backend& backend, const TableSnapshot& step, const LawCase& law_case,
                        BoundKind bound_kind) {
  Batch placed = place_tables(step, shape_of(law_case), Poison::kNaN, law_case.placement.seed);
  PagedAttentionInputs& inputs = placed.inputs;
  inputs.options = options_as<AttentionOptions>(law_case.problem.options);
  return compare_with_oracle(backend, inputs, bound_kind);
}

// Checks the whole step, or the part of it that the backend supports.
LawVerdict check_step(const Backend& backend, const TableSnapshot& step, const LawCase& law_case,
                      BoundKind bound_kind) {
  LawVerdict verdict = check_tables(backend, step, law_case, bound_kind);
  const TableSnapshot decoding = decoding_part(step);
  if (verdict.skipped && !decoding.sequences.empty())
    verdict = check_tables(backend, decoding, law_case, bound_kind);
  return verdict;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawVerdict all;
  for (const auto& [manager, steps] : all_tables()) {
    const TableSnapshot& step = steps[law_case.placement.seed % steps.size()];
    const LawVerdict verdict = check_step(backend, step, law_case, bound_kind);
    if (verdict.skipped) {
      all.skipped_parts.push_back(*verdict.skipped);
      continue;
    }
    if (verdict.call_failure) return verdict;
    if (all.comparison.passed() && !verdict.comparison.passed()) {
      all.printed = verdict.printed;
      all.what = fmt::format("{}, in step {} of an engine with {}, {}", verdict.what, step.step,
                             manager, step.moment);
    }
    all.comparison.append(verdict.comparison);
  }
  if (all.comparison.elements > 0) return all;
  all.skipped = all.skipped_parts.front();
  all.skipped_parts.clear();
  return all;
}

}  // namespace

Law engine_tables_law() {
  return {.name = "engine_tables",
          .statement =
              "on block tables of engines that serve requests, out and lse lie within the bound, "
              "too",
          .why_not_applicable = [](const LawCase&) { return std::optional<std::string>(); },
          .check = check};
}

}  // namespace recto::verify
