#include <algorithm>
#include <optional>
#include <utility>

#include "cuda/cache/testing/random_walk.h"

namespace recto::cache::testing {

Status RandomWalk::admit() {
  Live live = draw_live();
  const std::optional<TokenCount> room =
      one_in(2) ? std::nullopt : std::optional(TokenCount(below(std::ssize(live.tokens) + 4)));
  const TokenCount found = manager_.cached_prefix(prompt_of(live));
  const bool can = manager_.can_admit(prompt_of(live), room);
  const Result<Admission> admitted = manager_.admit(prompt_of(live), room);
  RECTO_RETURN_IF_ERROR(note("admit", admitted.status(), Announced{can}));
  if (!admitted.is_ok()) return Status::ok();
  if (admitted.value().hit != found) return Status::failed("another prefix than was announced");
  if (found > TokenCount(0)) ++counts_["hit"];
  live.handle = admitted.value().sequence;
  shadow_.scramble_lookahead(manager_, live.handle);
  live_.push_back(std::move(live));
  return one_in(3) ? Status::ok() : compute_prompt(live_.back());
}

// As engines do: the rest of the prompt, or a part of it, and others may find it.
Status RandomWalk::compute_prompt(Live& live) {
  const std::int64_t before = context(live);
  const std::int64_t missing = std::ssize(live.tokens) - before;
  const auto copies = manager_.append(live.handle, TokenCount(missing - below(2)));
  if (!copies.is_ok()) return Status::ok();
  shadow_.copy(copies.value());
  compute(live, before);
  return manager_.commit(live.handle, prompt_of(live).tokens);
}

Status RandomWalk::resume() {
  Live* live = draw(SequenceState::kPreempted);
  if (live == nullptr) return Status::ok();
  const bool can = manager_.can_resume(live->handle, prompt_of(*live));
  const Result<TokenCount> hit = manager_.resume(live->handle, prompt_of(*live));
  if (hit.is_ok()) live->state = SequenceState::kRunning;
  return note("resume", hit.status(), Announced{can});
}

Status RandomWalk::append_one_each() {
  std::vector<SequenceHandle> some = draw_some(SequenceState::kRunning);
  const bool can = manager_.can_append(some);
  const auto copies = manager_.append(some);
  RECTO_RETURN_IF_ERROR(note("append one each", copies.status(), Announced{can}));
  if (!copies.is_ok()) return Status::ok();
  if (!copies.value().empty()) ++counts_["copy on write"];
  shadow_.copy(copies.value());
  for (const SequenceHandle handle : some) {
    Live& live = *find(handle);
    compute(live, context(live) - 1);
  }
  return Status::ok();
}

Status RandomWalk::append_many() {
  Live* live = draw(SequenceState::kRunning);
  if (live == nullptr) return Status::ok();
  const std::int64_t before = context(*live);
  const auto copies = manager_.append(live->handle, TokenCount(below(9)));
  RECTO_RETURN_IF_ERROR(note("append many", copies.status()));
  if (!copies.is_ok()) return Status::ok();
  shadow_.copy(copies.value());
  compute(*live, before);
  return Status::ok();
}

Status RandomWalk::reserve() {
  Live* live = draw(SequenceState::kRunning);
  if (live == nullptr) return Status::ok();
  const std::int64_t length = context(*live) + below(7) - 1;
  const auto copies = manager_.reserve(live->handle, TokenCount(length));
  RECTO_RETURN_IF_ERROR(note("reserve", copies.status()));
  if (!copies.is_ok()) return Status::ok();
  shadow_.copy(copies.value());
  if (length > context(*live)) shadow_.scramble_lookahead(manager_, live->handle);
  return Status::ok();
}

Status RandomWalk::commit() {
  Live* live = draw(SequenceState::kRunning);
  if (live == nullptr) return Status::ok();
  return note("commit", manager_.commit(live->handle, prompt_of(*live).tokens));
}

Status RandomWalk::fork() {
  Live* live = draw(SequenceState::kRunning);
  if (live == nullptr) return Status::ok();
  const Result<SequenceHandle> child = manager_.fork(live->handle);
  RECTO_RETURN_IF_ERROR(note("fork", child.status()));
  if (!child.is_ok()) return Status::ok();
  Live forked = *live;
  forked.handle = child.value();
  live_.push_back(std::move(forked));
  return Status::ok();
}

Status RandomWalk::beam_step() {
  const std::vector<SequenceHandle> parents = draw_some(SequenceState::kRunning);
  std::vector<std::int32_t> parent_of;
  if (!parents.empty()) {
    for (std::int64_t beam = 1 + below(5); beam > 0; --beam) {
      parent_of.push_back(static_cast<std::int32_t>(below(std::ssize(parents))));
    }
  }
  const auto beams = manager_.beam_step(parents, parent_of);
  RECTO_RETURN_IF_ERROR(note("beam step", beams.status()));
  if (!beams.is_ok()) return Status::ok();
  std::vector<Live> next;
  for (std::size_t beam = 0; beam < parent_of.size(); ++beam) {
    next.push_back(*find(parents[static_cast<std::size_t>(parent_of[beam])]));
    next.back().handle = beams.value()[beam];
  }
  for (const SequenceHandle parent : parents) {
    const bool goes_on =
        std::ranges::any_of(next, [&](const Live& live) { return live.handle == parent; });
    if (!goes_on) dead_.push_back(parent);
    std::erase_if(live_, [&](const Live& live) { return live.handle == parent; });
  }
  live_.insert(live_.end(), next.begin(), next.end());
  return Status::ok();
}

Status RandomWalk::truncate() {
  Live* live = draw(SequenceState::kRunning);
  if (live == nullptr) return Status::ok();
  const std::int64_t length = std::max<std::int64_t>(context(*live) - below(6), 0);
  const Status status = manager_.truncate(live->handle, TokenCount(length));
  // Something else may follow.
  if (status.is_ok() && one_in(2)) live->tokens.resize(static_cast<std::size_t>(length));
  if (live->tokens.empty()) live->tokens.push_back(0);
  return note("truncate", status);
}

Status RandomWalk::release() {
  if (live_.empty()) return Status::ok();
  const auto place = live_.begin() + below(std::ssize(live_));
  if (place->state != SequenceState::kRunning) ++counts_["release of one not running"];
  dead_.push_back(place->handle);
  const Status status = manager_.release(place->handle);
  live_.erase(place);
  return note("release", status);
}

Status RandomWalk::preempt() {
  Live* live = draw(SequenceState::kRunning);
  if (live == nullptr || one_in(2)) return Status::ok();
  live->state = SequenceState::kPreempted;
  return note("preempt", manager_.preempt(live->handle));
}

Status RandomWalk::swap_out() {
  const std::vector<SequenceHandle> some = draw_some(SequenceState::kRunning);
  const bool can = manager_.can_swap_out(some);
  const Result<Transfer> transfer = manager_.swap_out(some);
  RECTO_RETURN_IF_ERROR(note("swap out", transfer.status(), Announced{can}));
  if (!transfer.is_ok()) return Status::ok();
  const auto copies = transfer.value().copies;
  for (const SequenceHandle handle : some) find(handle)->state = SequenceState::kSwappingOut;
  moving_.push_back({transfer.value(), {copies.begin(), copies.end()}, some, true});
  return Status::ok();
}

Status RandomWalk::swap_in() {
  const std::vector<SequenceHandle> some = draw_some(SequenceState::kSwapped);
  const TokenCount lookahead(below(3));
  const bool can = manager_.can_swap_in(some, lookahead);
  const Result<Transfer> transfer = manager_.swap_in(some, lookahead);
  RECTO_RETURN_IF_ERROR(note("swap in", transfer.status(), Announced{can}));
  if (!transfer.is_ok()) return Status::ok();
  const auto copies = transfer.value().copies;
  for (const SequenceHandle handle : some) find(handle)->state = SequenceState::kSwappingIn;
  moving_.push_back({transfer.value(), {copies.begin(), copies.end()}, some, false});
  return Status::ok();
}

// Copies may be made as late as now.
Status RandomWalk::complete() {
  if (moving_.empty()) return Status::ok();
  const auto place = moving_.begin() + below(std::ssize(moving_));
  const Moving done = *place;
  moving_.erase(place);
  done.is_out ? shadow_.copy_out(done.copies) : shadow_.copy_in(done.copies);
  const Status status = manager_.complete(done.transfer.handle);
  for (const SequenceHandle handle : done.members) {
    Live* live = find(handle);
    if (live == nullptr) continue;
    live->state = done.is_out ? SequenceState::kSwapped : SequenceState::kRunning;
  }
  if (manager_.complete(done.transfer.handle).is_ok()) return Status::failed("completed twice");
  return note("complete", status);
}

Status RandomWalk::pin() {
  const Live live = draw_live();
  const Result<Pin> pinned = manager_.pin(prompt_of(live));
  if (pinned.is_ok()) pins_.push_back(pinned.value().handle);
  return note("pin", pinned.status());
}

Status RandomWalk::unpin() {
  if (pins_.empty()) return Status::ok();
  const PinHandle pin = pins_[static_cast<std::size_t>(below(std::ssize(pins_)))];
  const Status status = manager_.unpin(pin);
  std::erase(pins_, pin);
  return note("unpin", status);
}

Status RandomWalk::reset() {
  if (!one_in(20)) return Status::ok();
  manager_.reset_prefix_cache();
  if (manager_.states().cached > TokenCount(0)) return Status::failed("cached after a reset");
  for (const PinHandle pin : pins_) {
    if (manager_.unpin(pin).is_ok()) return Status::failed("pinned after a reset");
  }
  pins_.clear();
  return note("reset", Status::ok());
}

// Every way of naming a sequence that is none, or not in the state for it.
Status RandomWalk::misuse() {
  if (!one_in(8)) return Status::ok();
  SequenceHandle handle{.index = static_cast<std::int32_t>(below(9)) - 1,
                        .generation = static_cast<std::uint32_t>(below(2)) * 1'000'000};
  if (!dead_.empty() && one_in(2)) {
    handle = dead_[static_cast<std::size_t>(below(std::ssize(dead_)))];
  }
  const std::vector<TokenId> tokens(64);
  const std::vector<SequenceHandle> batch = {handle};
  const std::vector<std::int32_t> parent_of = {0};
  const Status refusals[] = {
      manager_.append(handle, TokenCount(1)).status(),
      manager_.append(batch).status(),
      manager_.reserve(handle, TokenCount(1)).status(),
      manager_.commit(handle, {.ids = tokens, .items = {}}),
      manager_.fork(handle).status(),
      manager_.beam_step(batch, parent_of).status(),
      manager_.truncate(handle, TokenCount(0)),
      manager_.release(handle),
      manager_.preempt(handle),
      manager_.resume(handle, {.tokens = {.ids = tokens, .items = {}}, .keys = {}}).status(),
      manager_.swap_out(batch).status(),
      manager_.swap_in(batch).status(),
      manager_.view(handle).status(),
      manager_.block_table(handle, 0).status()};
  for (const Status& refusal : refusals) {
    if (refusal.code() != StatusCode::kInvalidInput) return Status::failed("misuse was taken");
    RECTO_RETURN_IF_ERROR(note("misuse", refusal));
  }
  return Status::ok();
}

}  // namespace recto::cache::testing
