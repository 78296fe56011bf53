#pragma once

// The block tables of a running batch, as a simulated engine has them while it serves requests: in
// which order blocks were allocated, who shares them, and how much of them is context.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/paged_kv_view.h"
#include "core/status.h"
#include "core/units.h"
#include "sim/allocators/allocator.h"
#include "sim/request.h"
#include "sim/scheduling/scheduler.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {

// One sequence in one step.
struct TracedSequence {
  std::int64_t context_length = 0;  // tokens, including those that the step computes
  std::int64_t num_rows = 0;        // tokens of the context that the step computes; at least 1
  bool was_preempted = false;       // at least once before
};

// All sequences that compute something in one step, and their block tables, as kernels read them.
struct TableSnapshot {
  std::string moment;
  std::int64_t step = 0;
  std::int64_t num_blocks = 0;             // of the pool
  std::int64_t block_size = 0;             // slots
  std::int64_t max_blocks = 0;             // of a sequence
  std::vector<std::int32_t> entries = {};  // [sequences, max_blocks]: physical ids, then -1
  std::vector<TracedSequence> sequences = {};

  BlockTableView table() const;
  // The entries of sequence i's table that lie within its context.
  std::span<const std::int32_t> reached(std::size_t i) const;
  // The sequences i for which this is true, and their rows.
  TableSnapshot part(const std::function<bool(std::size_t)>& is_in) const;
};

// Traits that make a batch worth testing.
struct TableTraits {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;         // of all contexts
  std::int64_t shared_blocks = 0;  // in more than one context
  std::int64_t unordered = 0;      // tables in which a block has a lower id than its predecessor
  std::int64_t preempted = 0;      // sequences that were preempted before
};
TableTraits traits_of(const TableSnapshot& snapshot);

// The sequences that compute one token: a batch for decode kernels.
TableSnapshot decoding_part(const TableSnapshot& snapshot);

struct TracedTables {
  std::vector<TableSnapshot> snapshots;  // in chronological order
  std::int64_t requests = 0;             // answered
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
  std::int64_t copied_slots = 0;  // slots copied on write
  std::int64_t tables = 0;        // over all steps, one per computing sequence and step
};

struct SnapshotOptions {
  std::int64_t of_each_moment = 2;  // snapshots
  std::int64_t steps_between = 40;  // minimum between snapshots of one moment
  // A window of steps, counted from 1: each step in it is an additional snapshot.
  std::int64_t window_begin = 0;
  std::int64_t window_end = 0;
};

// Serves all requests and takes snapshots of these moments: "full pool", every block has a holder;
// "after preemption", sequences that have resumed; "shared blocks"; "early", at least two
// sequences; "later", any other. Fails if the simulator does.
Result<TracedTables> trace_block_tables(sim::RequestSource& requests, sim::Allocator& allocator,
                                        const sim::SchedulerOptions& rules,
                                        const SnapshotOptions& options);
// The same on the production block manager, with its tables as cache::BatchTables writes them.
Result<TracedTables> trace_block_tables(sim::RequestSource& requests, ManagedAllocator& allocator,
                                        const sim::SchedulerOptions& rules,
                                        const SnapshotOptions& options);

}  // namespace recto::verify
