#pragma once

// Computes one step: block tables and slots as kernels read them, and the model over all rows, with
// attention in one call or in two.

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/cache/batch_tables.h"
#include "verify/engine/engine_cache.h"
#include "verify/engine/engine_job.h"
#include "verify/engine/host_model.h"
#include "verify/engine/kv_store.h"

namespace recto::verify {

// One sequence's part of a step.
struct EnginePart {
  const sim::SequenceGroup* group = nullptr;
  EngineJob* job = nullptr;
  sim::SequenceId sequence;
  SequenceStep shape;
  std::vector<Token> tokens = {};  // [rows], the drafts last
  bool ends_text = false;          // the row before the drafts has the next token's logits
  std::vector<std::int32_t> parent_of = {};    // set after the step if its beams branch
  bool is_shifted = false;                     // for a fault: positions are off by one
  std::vector<reference::Vector> logits = {};  // of the row before the drafts, and of the drafts

  std::span<const Token> drafts() const {
    return std::span(tokens).last(static_cast<std::size_t>(shape.drafts));
  }
};

class EngineBatch {
 public:
  // All references must outlive the batch. A step has at most `max_sequences`.
  EngineBatch(const ModelWeights& weights, const EngineOptions& options, const EngineCache& cache,
              KvStore& store, std::int64_t max_sequences);
  EngineBatch(const EngineBatch&) = delete;
  EngineBatch& operator=(const EngineBatch&) = delete;

  // Sets the parts' logits, and counts the batches that graphs compute.
  void compute(std::span<EnginePart> parts, EngineCounts& counts);

 private:
  // The parts that one call of attention computes.
  struct Call {
    std::vector<EnginePart*> parts = {};
    std::int64_t first_row = 0;  // of the block tables
    std::int64_t num_rows = 0;   // of the block tables
    bool is_replayed = false;    // with a table row per row, not per part
  };

  void place(std::span<const cache::SequenceHandle> rows);
  StepRows rows_of(const Call& call);
  void run(const Call& call);

  const ModelWeights& weights_;
  const EngineOptions& options_;
  const EngineCache& cache_;
  KvStore& store_;
  const HostModel model_;
  const std::int64_t max_rows_;             // of the block tables
  std::vector<std::int32_t> table_memory_;  // [max_rows, max_blocks]
  cache::BatchTables tables_;
};

}  // namespace recto::verify
