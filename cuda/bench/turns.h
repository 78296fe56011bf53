#pragma once

// Several batches of one shape, so that no call finds what the last one left.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/status.h"
#include "cuda/bench/attention_batch.h"
#include "cuda/bench/batch_shape.h"

namespace recto::bench {

// Before each call all of L2 is written, too.
inline constexpr std::int64_t kTurnsMax = 4;

class Turns {
 public:
  // Check status() first: there may be too little memory for a single one. Fewer than
  // turning_batches() are no error.
  explicit Turns(const BatchShape& shape, std::int64_t most = kTurnsMax);

  Status status() const { return status_; }
  std::int64_t count() const { return static_cast<std::int64_t>(batches_.size()); }
  const AttentionBatch& at(std::int64_t turn) const {
    return *batches_[static_cast<std::size_t>(turn) % batches_.size()];
  }

 private:
  std::vector<std::unique_ptr<AttentionBatch>> batches_;
  Status status_;
};

// False, and the benchmark skipped with the reason, where there is too little memory.
bool is_ready(benchmark::State& state, const Turns& turns);

}  // namespace recto::bench
