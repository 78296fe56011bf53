#include "verify/engine/engine_batch.h"

#include <algorithm>
#include <bit>

#include "core/contract.h"
#include "cuda/cache/slot_mapping.h"

namespace recto::verify {
namespace {

using reference::Matrix;

// Graphs have a row for each draft, and are padded to a power of two.
std::int64_t table_rows(const EngineOptions& options, std::int64_t max_sequences) {
  if (options.graphs == StepGraphs::kOff) return max_sequences;
  const auto rows = static_cast<std::uint64_t>(max_sequences * (1 + options.draft_tokens));
  return static_cast<std::int64_t>(std::bit_ceil(rows));
}

}  // namespace

EngineBatch::EngineBatch(const ModelWeights& weights, const EngineOptions& options,
                         const EngineCache& cache, KvStore& store, std::int64_t max_sequences)
    : weights_(weights),
      options_(options),
      cache_(cache),
      store_(store),
      model_(weights),
      max_rows_(table_rows(options, max_sequences)),
      table_memory_(static_cast<std::size_t>(
          max_rows_ * cache.manager().options().max_blocks_per_sequence.value())),
      tables_(cache::BatchTables::create(cache.manager(),
                                         {.max_rows = static_cast<std::int32_t>(max_rows_),
                                          .rows_of_sequence = cache::RowsOfSequence::kSeveral},
                                         table_memory_)
                  .value()) {}

// Chunks of prompts are launched and not replayed, because their number of rows varies.
void EngineBatch::compute(std::span<EnginePart> parts, EngineCounts& counts) {
  const bool has_graphs = options_.graphs == StepGraphs::kReplayed;
  Call single;
  Call several;
  for (EnginePart& part : parts) {
    const bool is_single = part.shape.rows == 1 || (has_graphs && part.shape.decodes());
    (is_single && options_.calls == StepCalls::kApart ? single : several).parts.push_back(&part);
  }
  std::vector<cache::SequenceHandle> rows;
  for (Call* call : {&single, &several}) {
    call->first_row = std::ssize(rows);
    call->is_replayed = has_graphs && std::ranges::all_of(call->parts, [](const EnginePart* part) {
                          return part->shape.decodes();
                        });
    for (const EnginePart* part : call->parts) {
      const std::int64_t count = call->is_replayed ? part->shape.rows : 1;
      rows.insert(rows.end(), static_cast<std::size_t>(count), cache_.handle(part->sequence));
      counts.replayed_drafts += call->is_replayed ? part->shape.drafts : 0;
    }
    call->num_rows = std::ssize(rows) - call->first_row;
  }
  place(rows);
  for (const Call* call : {&single, &several}) {
    if (call->parts.empty()) continue;
    run(*call);
    if (has_graphs) (call->is_replayed ? counts.replayed_steps : counts.launched_steps) += 1;
  }
}

// Assigns row i of the block tables to rows[i], and writes what changed since the last step.
void EngineBatch::place(std::span<const cache::SequenceHandle> rows) {
  RECTO_CHECK_LE(std::ssize(rows), max_rows_);
  for (std::int32_t row = 0; row < max_rows_; ++row) {
    const bool is_used = row < std::ssize(rows);
    const cache::SequenceHandle wanted =
        is_used ? rows[static_cast<std::size_t>(row)] : cache::SequenceHandle();
    if (is_used && tables_.row(row) == wanted) continue;
    RECTO_CHECK_EQ(tables_.clear(row), Status::ok());
    if (is_used) RECTO_CHECK_EQ(tables_.assign(row, wanted), Status::ok());
  }
  tables_.update();
}

// The cache slots and table rows of the call. A graph reads as many rows as it is padded to.
StepRows EngineBatch::rows_of(const Call& call) {
  const auto used = static_cast<std::uint64_t>(call.num_rows);
  const auto read = static_cast<std::int64_t>(call.is_replayed ? std::bit_ceil(used) : used);
  StepRows step{.query_start = {0}, .table = tables_.view(0, call.first_row, read)};
  std::vector<cache::TokenRange> ranges;
  for (const EnginePart* part : call.parts) {
    const std::int64_t context = part->shape.context;
    const std::int64_t rows = part->shape.rows;
    ranges.push_back({.sequence = cache_.handle(part->sequence), .first = context, .count = rows});
    const std::int64_t blocks = std::ssize(cache_.block_table(part->sequence));
    const bool is_new = context % options_.block_size == 0 && blocks > 1;
    if (options_.fault == EngineFault::kStaleTable && is_new) {
      const std::int64_t row = call.first_row + std::ssize(step.context_length);
      const auto last = static_cast<std::size_t>(row * step.table.row_stride + blocks - 1);
      table_memory_[last] = table_memory_[last - 1];
    }
    // A replayed row is a sequence of its own, one token longer than the row before.
    const std::int64_t each = call.is_replayed ? 1 : rows;
    for (std::int64_t end = each; end <= rows; end += each) {
      step.context_length.push_back(static_cast<std::int32_t>(context + end));
      step.query_start.push_back(step.query_start.back() + static_cast<std::int32_t>(each));
    }
  }
  RECTO_CHECK_EQ(std::ssize(step.context_length), call.num_rows);
  step.slots.resize(static_cast<std::size_t>(step.query_start.back()));
  RECTO_CHECK_EQ(cache::write_slot_mapping(cache_.manager(), 0, ranges, step.slots), Status::ok());
  return step;
}

void EngineBatch::run(const Call& call) {
  const StepRows step = rows_of(call);
  std::vector<Token> tokens;
  std::vector<std::int64_t> positions;
  for (const EnginePart* part : call.parts) {
    tokens.insert(tokens.end(), part->tokens.begin(), part->tokens.end());
    for (std::int64_t row = 0; row < part->shape.rows; ++row) {
      positions.push_back(part->shape.context + row + (part->is_shifted ? 1 : 0));
    }
  }
  Matrix x = model_.embed(tokens);
  for (std::int64_t layer = 0; layer < weights_.shape.layers; ++layer) {
    const ProjectedRows rows = model_.project(layer, x, positions);
    model_.finish_layer(
        layer,
        call.is_replayed ? store_.replay(layer, step, rows) : store_.attend(layer, step, rows), x);
  }
  std::int64_t end = 0;
  for (EnginePart* part : call.parts) {
    end += part->shape.rows;
    if (!part->ends_text) continue;
    for (std::int64_t row = end - 1 - part->shape.drafts; row < end; ++row) {
      part->logits.push_back(model_.logits(x, row));
    }
  }
}

}  // namespace recto::verify
