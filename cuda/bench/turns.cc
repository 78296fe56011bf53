#include "cuda/bench/turns.h"

#include <utility>

#include "cuda/bench/device.h"
#include "cuda/bench/measured.h"

namespace recto::bench {

Turns::Turns(const BatchShape& shape) {
  const Result<Card> here = card();
  status_ = here.status();
  // Asked before, as a failed allocation of one tensor would leave the others to be filled first.
  if (here.is_ok() && shape.allocated_bytes() > here.value().free_bytes) {
    status_ = too_little_memory(shape.allocated_bytes());
  }
  for (std::int64_t turn = 0; status_.is_ok() && turn < num_turns(shape); ++turn) {
    auto batch = std::make_unique<AttentionBatch>(shape, static_cast<std::uint64_t>(turn) + 1);
    if (!batch->status().is_ok()) {
      if (batches_.empty()) status_ = batch->status();
      return;
    }
    batches_.push_back(std::move(batch));
  }
}

bool is_ready(benchmark::State& state, const Turns& turns) {
  if (!turns.status().is_ok()) skip(state, turns.status().message());
  return turns.status().is_ok();
}

}  // namespace recto::bench
