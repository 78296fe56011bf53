#include "cuda/cache/testing/random_walk.h"

#include <algorithm>

#include "cuda/cache/invariants.h"
#include "cuda/cache/testing/state_text.h"

namespace recto::cache::testing {

CacheOptions draw_options(RandomStream& stream) {
  const auto below = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(stream.next_below(bound));
  };
  CacheOptions options;
  options.num_blocks = BlockCount(2 + below(23));
  options.block_size = TokenCount(1 + below(4));
  options.null_blocks = BlockCount(below(2));
  options.host_blocks = BlockCount(below(12));
  options.watermark = BlockCount(below(2));
  options.max_sequences = static_cast<std::int32_t>(2 + below(5));
  options.max_blocks_per_sequence = BlockCount(1 + below(7));
  options.groups.clear();
  for (std::int64_t group = 1 + below(3); group > 0; --group) {
    options.groups.push_back({.num_layers = 1, .window = {}});
    if (below(2) == 0) options.groups.back().window = TokenCount(1 + below(9));
  }
  PrefixCacheOptions& prefix = options.prefix;
  if (below(8) == 0) prefix.caching = PrefixCaching::kOff;
  if (below(3) == 0) prefix.max_nodes = static_cast<std::int32_t>(below(6));
  if (below(3) == 0) prefix.hasher.mask = static_cast<std::uint64_t>(below(3));
  if (below(2) == 0) prefix.hasher.width = HashWidth::k128;
  prefix.max_items_per_block = static_cast<std::int32_t>(below(3));
  prefix.max_pins = static_cast<std::int32_t>(below(3));
  return options;
}

RandomWalk::RandomWalk(std::uint64_t seed)
    : stream_(seed),
      manager_(BlockManager::create(draw_options(stream_)).value()),
      shadow_(manager_.options()) {
  // Each walk has little of some operations, so that the others get further.
  for (int operation = 0; operation < kNumOperations; ++operation) {
    if (one_in(3)) rare_.insert(operation);
  }
}

std::int64_t RandomWalk::below(std::int64_t bound) {
  return static_cast<std::int64_t>(stream_.next_below(static_cast<std::uint64_t>(bound)));
}

std::vector<SequenceHandle> RandomWalk::handles() const {
  std::vector<SequenceHandle> handles;
  for (const Live& live : live_) handles.push_back(live.handle);
  return handles;
}

RandomWalk::Live RandomWalk::draw_live() {
  Live live;
  const std::int64_t most =
      manager_.options().max_blocks_per_sequence.value() * manager_.options().block_size.value();
  for (std::int64_t i = 1 + below(most + 1); i > 0; --i) {
    live.tokens.push_back(static_cast<TokenId>(one_in(10)));
  }
  std::int64_t end = 0;
  while (one_in(8)) {
    const MultimodalItem item{.content_hash = static_cast<std::uint64_t>(below(2)),
                              .start = end + below(3),
                              .length = 1 + below(3)};
    live.items.push_back(item);
    end = item.start + item.length;
  }
  if (one_in(10)) live.keys.lora_id = 1;
  if (one_in(10)) live.keys.tenant_salt = 1;
  return live;
}

RandomWalk::Live* RandomWalk::find(SequenceHandle handle) {
  for (Live& live : live_) {
    if (live.handle == handle) return &live;
  }
  return nullptr;
}

RandomWalk::Live* RandomWalk::draw(SequenceState state) {
  std::vector<Live*> found;
  for (Live& live : live_) {
    if (live.state == state) found.push_back(&live);
  }
  if (found.empty()) return nullptr;
  return found[static_cast<std::size_t>(below(std::ssize(found)))];
}

std::vector<SequenceHandle> RandomWalk::draw_some(SequenceState state) {
  std::vector<SequenceHandle> some;
  for (const Live& live : live_) {
    if (live.state == state && !one_in(3)) {
      some.insert(some.begin() + below(std::ssize(some) + 1), live.handle);
    }
  }
  return some;
}

std::int64_t RandomWalk::context(const Live& live) const {
  return manager_.view(live.handle).value().context_length.value();
}

// A tag stands for all that a token's K and V depend on.
std::vector<std::uint64_t> RandomWalk::tags_of(const Live& live, std::int64_t length) const {
  std::uint64_t tag = mix_bits(live.keys.lora_id * 3 + live.keys.tenant_salt + 1);
  std::vector<std::uint64_t> tags;
  for (std::int64_t i = 0; i < length; ++i) {
    tag = mix_bits(tag + static_cast<std::uint64_t>(live.tokens[static_cast<std::size_t>(i)]));
    for (const MultimodalItem& item : live.items) {
      if (i < item.start || i >= item.start + item.length) continue;
      tag = mix_bits(tag ^ (item.content_hash * 64 + static_cast<std::uint64_t>(i - item.start)));
    }
    tags.push_back(tag);
  }
  return tags;
}

// The tokens from `from` on are written.
void RandomWalk::compute(Live& live, std::int64_t from) {
  const std::int64_t length = context(live);
  while (std::ssize(live.tokens) < length) {
    live.tokens.push_back(static_cast<TokenId>(one_in(10)));
  }
  const std::vector<std::uint64_t> tags = tags_of(live, length);
  const auto computed = std::span(tags).subspan(static_cast<std::size_t>(from));
  shadow_.write(manager_, live.handle, from, computed);
}

Status RandomWalk::check_all() const {
  RECTO_RETURN_IF_ERROR(check_invariants(manager_));
  for (const Live& live : live_) {
    const SequenceView view = manager_.view(live.handle).value();
    if (view.state != live.state) return Status::failed("a sequence is in another state");
    const bool is_readable =
        view.state == SequenceState::kRunning || view.state == SequenceState::kSwappingOut;
    if (!is_readable) continue;
    RECTO_RETURN_IF_ERROR(
        shadow_.check(manager_, live.handle, tags_of(live, view.context_length.value())));
  }
  return Status::ok();
}

Status RandomWalk::note(const std::string& what, const Status& status) {
  ++counts_[status.is_ok() ? what : what + " refused"];
  if (status.is_ok()) return status;
  if (status.code() == StatusCode::kFailed) return status;
  if (state_text(manager_) == before_) return Status::ok();
  return Status::failed("a refusal changed something: " + status.message());
}

Status RandomWalk::note(const std::string& what, const Status& status, Announced announced) {
  if (status.is_ok() == announced.will_succeed) return note(what, status);
  return Status::failed("not as announced: " + what + ": " + internal::describe(status));
}

Status RandomWalk::step() {
  using Operation = Status (RandomWalk::*)();
  static constexpr Operation kOperations[kNumOperations] = {
      &RandomWalk::admit,           &RandomWalk::admit,
      &RandomWalk::append_one_each, &RandomWalk::append_one_each,
      &RandomWalk::append_one_each, &RandomWalk::append_many,
      &RandomWalk::append_many,     &RandomWalk::reserve,
      &RandomWalk::commit,          &RandomWalk::commit,
      &RandomWalk::commit,          &RandomWalk::fork,
      &RandomWalk::beam_step,       &RandomWalk::truncate,
      &RandomWalk::release,         &RandomWalk::preempt,
      &RandomWalk::resume,          &RandomWalk::swap_out,
      &RandomWalk::swap_in,         &RandomWalk::complete,
      &RandomWalk::complete,        &RandomWalk::pin,
      &RandomWalk::unpin,           &RandomWalk::reset,
      &RandomWalk::misuse};
  before_ = state_text(manager_);
  const std::int64_t drawn = below(kNumOperations);
  const Operation operation = kOperations[drawn];
  if (rare_.contains(static_cast<int>(drawn)) && !one_in(8)) return Status::ok();
  RECTO_RETURN_IF_ERROR((this->*operation)());
  return check_all().in("after operation " + std::to_string(drawn));
}

}  // namespace recto::cache::testing
