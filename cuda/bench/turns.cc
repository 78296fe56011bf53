#include "cuda/bench/turns.h"

#include <utility>

#include "cuda/bench/device.h"
#include "cuda/bench/measured.h"

namespace recto::bench {
namespace {

constexpr std::int64_t kSpareBytes = std::int64_t{1} << 30;

}  // namespace

Turns::Turns(const BatchShape& shape, std::int64_t most) {
  const Result<Card> here = card();
  status_ = here.status();
  // Checked before anything is allocated, so that memory is left for overwriting L2 and for
  // workspace.
  if (here.is_ok() && shape.allocated_bytes() + kSpareBytes > here.value().free_bytes) {
    status_ = too_little_memory(shape.allocated_bytes() + kSpareBytes);
  }
  for (std::int64_t turn = 0; status_.is_ok() && turn < turning_batches(shape, most); ++turn) {
    auto batch = std::make_unique<AttentionBatch>(shape, static_cast<std::uint64_t>(turn) + 1);
    if (!batch->status().is_ok()) {
      if (batches_.empty()) status_ = batch->status();
      return;
    }
    batches_.push_back(std::move(batch));
  }
}

bool is_ready(benchmark::State& state, const Turns& turns) {
  if (!turns.status().is_ok()) give_up(state, turns.status());
  return turns.status().is_ok();
}

}  // namespace recto::bench
