#include "verify/block_manager/trace_block_tables.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "core/contract.h"
#include "core/units.h"
#include "cuda/cache/batch_tables.h"
#include "sim/simulator.h"
#include "sim/time/linear_time_model.h"

namespace recto::verify {

BlockTableView TableSnapshot::table() const {
  return {.data = entries.data(),
          .num_seqs = std::ssize(sequences),
          .max_blocks = max_blocks,
          .row_stride = max_blocks};
}

std::span<const std::int32_t> TableSnapshot::reached(std::size_t i) const {
  const std::int64_t count = ceil_div(sequences.at(i).context_length, block_size);
  RECTO_CHECK_LE(count, max_blocks);
  return std::span(entries).subspan(i * static_cast<std::size_t>(max_blocks),
                                    static_cast<std::size_t>(count));
}

TableSnapshot TableSnapshot::part(const std::function<bool(std::size_t)>& is_in) const {
  TableSnapshot part = *this;
  part.entries.clear();
  part.sequences.clear();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (!is_in(i)) continue;
    const auto row = entries.begin() + static_cast<std::int64_t>(i) * max_blocks;
    part.entries.insert(part.entries.end(), row, row + max_blocks);
    part.sequences.push_back(sequences[i]);
  }
  return part;
}

namespace {

// Costs of the order of an 8B model on one GPU. Only the resulting mixture of phases matters.
const sim::TimeModel& time_model() {
  static const sim::LinearTimeModel kModel({.fixed_ns = 17e6,
                                            .per_prefill_token_ns = 80e3,
                                            .per_kv_token_ns = 170,
                                            .per_sequence_ns = 8e3,
                                            .source = "order of magnitude"});
  return kModel;
}

// A step that matches several moments counts as the first of them.
struct Moment {
  const char* name;
  bool (*is_it)(const TableTraits& traits, std::int64_t unheld_slots);
  std::int64_t next_step = 0;
  std::int64_t taken = 0;  // snapshots
};

constexpr std::array<Moment, 5> kMoments = {{
    {"full pool", [](const TableTraits&, std::int64_t unheld_slots) { return unheld_slots == 0; }},
    {"after preemption",
     [](const TableTraits& traits, std::int64_t) { return traits.preempted > 0; }},
    {"shared blocks",
     [](const TableTraits& traits, std::int64_t) { return traits.shared_blocks > 0; }},
    {"early", [](const TableTraits& traits, std::int64_t) { return traits.sequences > 1; }},
    {"later", [](const TableTraits&, std::int64_t) { return true; }, 200},
}};

// `write_row(sequence, row)` writes a sequence's table to a row of -1, [max_blocks].
template <typename WriteRow>
class TableObserver final : public sim::SimulationObserver {
 public:
  TableObserver(const sim::Allocator& allocator, const WriteRow& write_row,
                const SnapshotOptions& options)
      : allocator_(allocator), write_row_(write_row), options_(options) {}

  void on_step(const sim::StepPlan& plan, const sim::StepCost&, SimTime) override {
    is_new_step_ = plan.kind == sim::StepPlan::Kind::kStep;
    steps_ += is_new_step_ ? 1 : 0;
  }
  void on_preempted(const sim::SequenceGroup& group, sim::PreemptionKind, SimTime) override {
    preempted_.insert(group.request.id);
  }
  // At this event the step has its slots and is running.
  void on_gauges(const sim::GaugeValues&, const sim::Scheduler& scheduler, SimTime) override {
    if (!std::exchange(is_new_step_, false)) return;
    count_tables(scheduler);
    if (steps_ >= options_.window_begin && steps_ < options_.window_end) {
      snapshots_.push_back(look(scheduler));
      snapshots_.back().moment = "window";
      return;
    }
    const auto may_be_due = [this](const Moment& moment) {
      return moment.taken < options_.of_each_moment && steps_ >= moment.next_step;
    };
    if (std::ranges::none_of(moments_, may_be_due)) return;
    TableSnapshot snapshot = look(scheduler);
    const TableTraits traits = traits_of(snapshot);
    for (Moment& moment : moments_) {
      if (!may_be_due(moment) || !moment.is_it(traits, unheld_slots())) continue;
      snapshot.moment = moment.name;
      ++moment.taken;
      moment.next_step = steps_ + options_.steps_between;
      snapshots_.push_back(std::move(snapshot));
      return;
    }
  }

  std::vector<TableSnapshot> take() { return std::move(snapshots_); }
  std::int64_t tables() const { return tables_; }

 private:
  std::int64_t unheld_slots() const {
    const sim::PoolCounts counts = allocator_.counts();
    return counts.free.value() + counts.cached.value();
  }

  void count_tables(const sim::Scheduler& scheduler) {
    for (const sim::SequenceGroup* group : scheduler.holders()) {
      for (std::size_t member = 0; member < group->members.size(); ++member) {
        tables_ += rows_of(*group, member) > 0 ? 1 : 0;
      }
    }
  }

  TableSnapshot look(const sim::Scheduler& scheduler) const {
    const std::int64_t block_size = allocator_.block_size().value();
    TableSnapshot snapshot = {.moment = "",
                              .step = steps_,
                              .num_blocks = allocator_.counts().pool.value() / block_size,
                              .block_size = block_size};
    std::vector<sim::SequenceId> ids;
    for (const sim::SequenceGroup* group : scheduler.holders()) {
      for (std::size_t member = 0; member < group->members.size(); ++member) {
        const std::int64_t rows = rows_of(*group, member);
        if (rows == 0) continue;
        TracedSequence& sequence = snapshot.sequences.emplace_back();
        sequence.num_rows = rows;
        sequence.context_length = scheduler.context(*group, member) + rows;
        sequence.was_preempted = preempted_.contains(group->request.id);
        ids.push_back(group->members[member]);
        snapshot.max_blocks =
            std::max(snapshot.max_blocks, std::ssize(allocator_.block_table(ids.back())));
      }
    }
    const auto columns = static_cast<std::size_t>(snapshot.max_blocks);
    snapshot.entries.assign(ids.size() * columns, -1);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      write_row_(ids[i], std::span(snapshot.entries).subspan(i * columns, columns));
    }
    return snapshot;
  }

  // How many tokens of a member the running step computes.
  static std::int64_t rows_of(const sim::SequenceGroup& group, std::size_t member) {
    if (group.phase == sim::SequenceGroupPhase::kDecoding) return 1;
    const bool prefills =
        group.phase == sim::SequenceGroupPhase::kPrefilling && member == group.prefill_member;
    return prefills ? group.planned_chunk : 0;
  }

  const sim::Allocator& allocator_;
  const WriteRow& write_row_;
  const SnapshotOptions options_;
  std::array<Moment, kMoments.size()> moments_ = kMoments;
  bool is_new_step_ = false;
  std::int64_t steps_ = 0;
  std::int64_t tables_ = 0;
  std::set<std::int64_t> preempted_;  // requests
  std::vector<TableSnapshot> snapshots_;
};

template <typename WriteRow>
Result<TracedTables> trace(sim::RequestSource& requests, sim::Allocator& allocator,
                           const sim::SchedulerOptions& rules, const SnapshotOptions& options,
                           const WriteRow& write_row) {
  TableObserver observer(allocator, write_row, options);
  sim::SimulationOptions simulation;
  simulation.scheduler = rules;
  const Result<sim::Report> report =
      sim::simulate(requests, allocator, time_model(), simulation, &observer);
  RECTO_RETURN_IF_ERROR(report.status());
  const sim::Counters& counters = report.value().counters;
  return TracedTables{.snapshots = observer.take(),
                      .requests = counters.requests_finished,
                      .steps = counters.steps,
                      .preemptions = counters.preemptions_recompute + counters.preemptions_swap,
                      .copied_slots = counters.copied_slots,
                      .tables = observer.tables()};
}

}  // namespace

TableTraits traits_of(const TableSnapshot& snapshot) {
  TableTraits traits;
  std::map<std::int32_t, std::int64_t> contexts;  // number of contexts with the block
  for (std::size_t i = 0; i < snapshot.sequences.size(); ++i) {
    ++traits.sequences;
    traits.tokens += snapshot.sequences[i].context_length;
    traits.preempted += snapshot.sequences[i].was_preempted ? 1 : 0;
    const std::span<const std::int32_t> blocks = snapshot.reached(i);
    traits.unordered += std::ranges::is_sorted(blocks) ? 0 : 1;
    for (const std::int32_t block : blocks) ++contexts[block];
  }
  for (const auto& [block, count] : contexts) traits.shared_blocks += count > 1 ? 1 : 0;
  return traits;
}

TableSnapshot decoding_part(const TableSnapshot& snapshot) {
  return snapshot.part([&](std::size_t i) { return snapshot.sequences[i].num_rows == 1; });
}

Result<TracedTables> trace_block_tables(sim::RequestSource& requests, sim::Allocator& allocator,
                                        const sim::SchedulerOptions& rules,
                                        const SnapshotOptions& options) {
  const auto write_row = [&](sim::SequenceId sequence, std::span<std::int32_t> row) {
    std::ranges::transform(allocator.block_table(sequence), row.begin(), &BlockId::value);
  };
  return trace(requests, allocator, rules, options, write_row);
}

// The tables have one row for each place in the manager's list of sequences.
Result<TracedTables> trace_block_tables(sim::RequestSource& requests, ManagedAllocator& allocator,
                                        const sim::SchedulerOptions& rules,
                                        const SnapshotOptions& options) {
  const cache::CacheOptions& cache = allocator.manager().options();
  const std::int64_t columns = cache.max_blocks_per_sequence.value();
  std::vector<std::int32_t> buffer(static_cast<std::size_t>(cache.max_sequences * columns));
  cache::BatchTables tables =
      cache::BatchTables::create(allocator.manager(), {.max_rows = cache.max_sequences}, buffer)
          .value();
  const auto write_row = [&](sim::SequenceId sequence, std::span<std::int32_t> row) {
    const cache::SequenceHandle handle = allocator.handle(sequence);
    if (tables.row(handle.index) != handle) {
      RECTO_CHECK_EQ(tables.assign(handle.index, handle), Status::ok());
    }
    tables.update();
    std::copy_n(tables.view(0, handle.index, 1).data, row.size(), row.begin());
  };
  return trace(requests, allocator, rules, options, write_row);
}

}  // namespace recto::verify
