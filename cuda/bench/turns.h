#pragma once

// Several batches of one shape in turns, so that no call finds the data of the previous one in
// caches.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/status.h"
#include "cuda/bench/attention_batch.h"
#include "cuda/bench/batch_shape.h"

namespace recto::bench {

// In addition, all of L2 is overwritten before each call.
inline constexpr std::int64_t kTurnsMax = 4;

class Turns {
 public:
  // Check status() first: there may be too little memory even for one batch. Having fewer than
  // turning_batches() is no error.
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

// False if there is too little memory; the benchmark is then skipped with the reason.
bool is_ready(benchmark::State& state, const Turns& turns);

}  // namespace recto::bench
