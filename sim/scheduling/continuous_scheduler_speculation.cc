// Speculative decoding: tokens that a step yields in addition to the regular one.

#include <algorithm>

#include "core/contract.h"
#include "sim/scheduling/continuous_scheduler.h"

namespace recto::sim {

// The common clock counts one token per step, so the group leaves it and joins it again.
void ContinuousScheduler::gain(std::int64_t request_id, std::int64_t tokens, SimTime now) {
  RECTO_CHECK_GT(tokens, 0);
  const RunningList& running = batch_.running();
  auto at = running.begin();
  while (at != running.end() && this->request_id(*at) != request_id) ++at;
  RECTO_CHECK(at != running.end());
  const GroupIndex index = *at;
  SequenceGroup& group = batch_.at(index);
  RECTO_CHECK(group.phase == SequenceGroupPhase::kDecoding);
  RECTO_CHECK(group.beams == nullptr);
  const std::int64_t before = batch_.context(index);
  const std::int64_t after = before + tokens;
  RECTO_CHECK_LE(after, group.final_context());
  batch_.stop_decoding(index);
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    RECTO_CHECK(holdings_.grow(group, member, before, after));
    holdings_.write(before, after);
  }
  std::erase(forked_, index);  // each member has written since the fork
  group.context = after;
  counters_.decode_tokens += tokens * group.width();
  counters_.output_tokens += tokens * group.width();
  if (after == group.final_context()) {
    finish(index, now);
  } else {
    batch_.start_decoding(index, next_deadline(group, after));
  }
}

}  // namespace recto::sim
