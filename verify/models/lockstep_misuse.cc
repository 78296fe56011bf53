// Handles that name nothing, alone and among good ones: refused, everywhere.

#include <array>

#include "verify/models/answers.h"
#include "verify/models/lockstep.h"

namespace recto::verify {
namespace {

void refused(const Status& status) {
  RECTO_CHECK_EQ(Answer(status), Answer(Status::invalid_input("by the model")));
  RECTO_CHECK(!status.message().empty());
}

}  // namespace

std::optional<StatusCode> Lockstep::misuse(const CacheCommand& command) {
  std::vector<cache::SequenceHandle> bad = gone_;
  bad.push_back({});
  bad.push_back({.index = -1, .generation = 1});
  bad.push_back({.index = model_.options().max_sequences, .generation = 1});
  for (const Actor& actor : actors_) {
    bad.push_back({actor.handle.index, actor.handle.generation + 1});
    bad.push_back({actor.handle.index, actor.handle.generation - 1});
  }
  const cache::SequenceHandle handle = bad[static_cast<std::size_t>(command.who) % bad.size()];
  say("misuse of handle " + internal::describe(handle));
  misuse_alone(handle);
  misuse_among(handle);
  refused(manager_.complete({}));
  refused(manager_.complete(last_transfer_.handle));
  refused(manager_.unpin({}));
  refused(manager_.unpin(last_pin_.handle));
  for (const Actor& actor : actors_) {
    refused(manager_.block_table(actor.handle, -1).status());
    refused(manager_.block_table(actor.handle, num_groups()).status());
  }
  return StatusCode::kInvalidInput;
}

void Lockstep::misuse_alone(cache::SequenceHandle bad) {
  const CacheText text = {.ids = {0}};
  const std::array<cache::SequenceHandle, 1> one = {bad};
  const std::array<std::int32_t, 1> first = {0};
  refused(manager_.view(bad).status());
  refused(manager_.block_table(bad, 0).status());
  refused(manager_.reserve(bad, TokenCount(1)).status());
  refused(manager_.append(bad, TokenCount(1)).status());
  refused(manager_.append(one).status());
  refused(manager_.commit(bad, text.prompt().tokens));
  refused(manager_.fork(bad).status());
  refused(manager_.beam_step(one, first).status());
  refused(manager_.truncate(bad, TokenCount(0)));
  refused(manager_.release(bad));
  refused(manager_.preempt(bad));
  refused(manager_.resume(bad, text.prompt()).status());
  refused(manager_.swap_out(one).status());
  refused(manager_.swap_in(one).status());
  RECTO_CHECK(!manager_.can_append(one));
  RECTO_CHECK(!manager_.can_resume(bad, text.prompt()));
  RECTO_CHECK(!manager_.can_swap_out(one));
  RECTO_CHECK(!manager_.can_swap_in(one));
}

// Behind a good one, which is not touched either.
void Lockstep::misuse_among(cache::SequenceHandle bad) {
  for (const auto state : {cache::SequenceState::kRunning, cache::SequenceState::kSwapped}) {
    std::vector<cache::SequenceHandle> batch = handles(all_in(state));
    batch.push_back(bad);
    const std::vector<std::int32_t> parent_of(batch.size(), 0);
    refused(manager_.append(batch).status());
    refused(manager_.beam_step(batch, parent_of).status());
    refused(manager_.swap_out(batch).status());
    refused(manager_.swap_in(batch).status());
    RECTO_CHECK(!manager_.can_append(batch));
    RECTO_CHECK(!manager_.can_swap_out(batch));
    RECTO_CHECK(!manager_.can_swap_in(batch));
  }
}

}  // namespace recto::verify
