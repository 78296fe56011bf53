#include "verify/block_manager/managed_allocator.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"

namespace recto::verify {
namespace {

// The index keeps an entry without a block while a later block of the chain still has one. It
// therefore needs more entries than there are blocks.
constexpr std::int64_t kNodesPerBlock = 2;
constexpr std::int64_t kMoreNodes = 1024;

std::int64_t full_blocks(TokenCount tokens, TokenCount block_size) {
  return tokens.value() / block_size.value();
}

// Whether the operation was refused for lack of room. Any other failure is a defect of this file.
template <typename T>
bool is_refused(const Result<T>& result) {
  if (result.is_ok()) return false;
  const Status status = result.status();
  if (status.code() != StatusCode::kExhausted) RECTO_CHECK_EQ(status, Status::ok());
  return true;
}

cache::CacheOptions cache_options(const ManagedOptions& options) {
  const TokenCount block_size = options.block_size;
  cache::CacheOptions cache;
  cache.num_blocks = BlockCount(full_blocks(options.pool_slots, block_size));
  cache.block_size = block_size;
  cache.null_blocks = options.null_blocks;
  cache.host_blocks = BlockCount(full_blocks(options.host_pool, block_size));
  cache.watermark = blocks_for(options.watermark, block_size);
  // The head of the queue may ask for room while the largest number of sequences runs.
  cache.max_sequences = static_cast<std::int32_t>(options.max_sequences + 1);
  // `fit` asks for room for all members of a request as if for one sequence.
  const std::int64_t most = blocks_for(options.max_length, block_size).value() * options.max_width;
  const std::int64_t usable = (cache.num_blocks - options.null_blocks).value();
  cache.max_blocks_per_sequence = BlockCount(std::clamp<std::int64_t>(usable, 1, most));
  cache.prefix.caching = options.caching;
  cache.prefix.max_items_per_block = 0;
  cache.prefix.max_nodes =
      static_cast<std::int32_t>(kNodesPerBlock * cache.num_blocks.value() + kMoreNodes);
  return cache;
}

}  // namespace

Result<cache::BlockManager> ManagedAllocator::make_manager(const ManagedOptions& options) {
  if (options.block_size.value() < 1) {
    return Status::invalid_input("block_size = " + std::to_string(options.block_size.value()) +
                                 "; expected at least 1");
  }
  return cache::BlockManager::create(cache_options(options));
}

Result<std::unique_ptr<ManagedAllocator>> ManagedAllocator::create(const ManagedOptions& options) {
  Result<cache::BlockManager> made = make_manager(options);
  RECTO_RETURN_IF_ERROR(made.status());
  return std::unique_ptr<ManagedAllocator>(new ManagedAllocator(options, std::move(made).value()));
}

ManagedAllocator::ManagedAllocator(const ManagedOptions& options, cache::BlockManager manager)
    : remainder_(options.pool_slots.value() % options.block_size.value()),
      host_remainder_(options.host_pool.value() % options.block_size.value()),
      manager_(std::move(manager)),
      tokens_(options.caching == cache::PrefixCaching::kOn ? PromptTokens::Contents::kTold
                                                           : PromptTokens::Contents::kAllAlike) {}

void ManagedAllocator::open(sim::SequenceId sequence, const sim::SequenceSpec& spec) {
  const auto place = static_cast<std::size_t>(sequence.value());
  if (place >= members_.size()) members_.resize(place + 1);
  hashes_.resize(members_.size());
  hashes_[place].clear();
  members_[place] = {};
  members_[place].spec = spec;
  tokens_.open(sequence, spec);
}

void ManagedAllocator::close(sim::SequenceId sequence) {
  Member& mine = member(sequence);
  if (mine.handle) RECTO_CHECK_EQ(manager_.release(*mine.handle), Status::ok());
  mine = {};
  tokens_.close(sequence);
  hashes_[static_cast<std::size_t>(sequence.value())] = {};
}

std::int64_t ManagedAllocator::blocks_of(TokenCount tokens) const {
  return blocks_for(tokens, block_size()).value();
}

// The full blocks of the prompt count once, all other blocks once per member.
bool ManagedAllocator::can_ever_hold(const sim::Request& request, TokenCount spare) const {
  const std::int64_t shared = full_blocks(request.prompt_tokens, block_size());
  const std::int64_t own = blocks_of(request.final_context()) - shared;
  const cache::CacheOptions& options = manager_.options();
  return shared + own * request.width + blocks_of(spare) <=
         (options.num_blocks - options.null_blocks).value();
}

// Blocks that the members after the first will need up to `length`.
std::int64_t ManagedAllocator::blocks_of_others(std::span<const sim::SequenceId> members,
                                                TokenCount length) const {
  const TokenCount prompt = member(members.front()).spec.request->prompt_tokens;
  if (length <= prompt) return 0;
  return (blocks_of(length) - full_blocks(prompt, block_size())) * (std::ssize(members) - 1);
}

// The tokens of a sequence never change, so each of its blocks is hashed once.
cache::Prompt ManagedAllocator::prompt(sim::SequenceId sequence, TokenCount length) const {
  cache::Prompt prompt;
  prompt.tokens.ids = tokens_.first(sequence, length);
  if (!reuses_prefixes()) return prompt;
  std::vector<cache::BlockHash>& hashes = hashes_[static_cast<std::size_t>(sequence.value())];
  const auto known = std::ssize(hashes);
  const std::int64_t full = full_blocks(length, block_size());
  if (known < full) {
    hashes.resize(static_cast<std::size_t>(full));
    prompt.hashes = std::span(hashes).first(static_cast<std::size_t>(known));
    RECTO_CHECK_EQ(manager_.hash_prompt(prompt, hashes).value(), full);
  }
  prompt.hashes = hashes;
  return prompt;
}

sim::Fit ManagedAllocator::fit(std::span<const sim::SequenceId> members, TokenCount length,
                               TokenCount spare) const {
  const std::int64_t more = blocks_of(spare) - manager_.options().watermark.value();
  RECTO_CHECK_GE(more, 0);
  const std::int64_t blocks = blocks_of(length) + blocks_of_others(members, length) + more;
  const TokenCount room = blocks * block_size();
  const cache::Prompt wanted = prompt(members.front(), length);
  const Member& leader = member(members.front());
  const bool fits = leader.handle ? manager_.can_resume(*leader.handle, wanted, room)
                                  : manager_.can_admit(wanted, room);
  return fits ? sim::Fit::kFits : sim::Fit::kShort;
}

TokenCount ManagedAllocator::cached_prefix(sim::SequenceId sequence, TokenCount length) const {
  return manager_.cached_prefix(prompt(sequence, length));
}

std::optional<sim::Growth> ManagedAllocator::admit(std::span<const sim::SequenceId> members,
                                                   TokenCount length) {
  Member& leader = member(members.front());
  const cache::Prompt wanted = prompt(members.front(), length);
  const TokenCount cached_before = manager_.states().cached;
  const std::int64_t evicted_before = manager_.statistics().evicted;
  TokenCount hit;
  if (leader.handle) {
    const Result<TokenCount> resumed = manager_.resume(*leader.handle, wanted, length);
    if (is_refused(resumed)) return std::nullopt;
    hit = resumed.value();
  } else {
    const Result<cache::Admission> admitted = manager_.admit(wanted, length);
    if (is_refused(admitted)) return std::nullopt;
    leader.handle = admitted.value().sequence;
    hit = admitted.value().hit;
  }
  // Slots that left the cache were either prefix hits or evicted.
  const std::int64_t evicted = manager_.statistics().evicted - evicted_before;
  const TokenCount left = cached_before - manager_.states().cached;
  const TokenCount capacity = view(leader).capacity;
  table_entries_ += blocks_of(capacity);
  return sim::Growth{.held_before = hit,
                     .held_after = capacity,
                     .revived = left - evicted * block_size(),
                     .hit = hit};
}

std::optional<sim::Growth> ManagedAllocator::grow(sim::SequenceId sequence, TokenCount context,
                                                  TokenCount length) {
  Member& mine = member(sequence);
  const TokenCount kept = std::exchange(mine.kept_drafts, TokenCount(0));
  catch_up(mine, context + kept);
  const TokenCount capacity = view(mine).capacity;
  sim::Growth growth{.held_before = kept == TokenCount(0) ? capacity : mine.told_capacity};
  const Result<std::span<const cache::BlockCopy>> copies = manager_.reserve(*mine.handle, length);
  if (is_refused(copies)) return std::nullopt;
  for (const cache::BlockCopy& copy : copies.value()) {
    growth.copied += block_size();
    growth.copied_context += copy.slots;
  }
  on_copies(copies.value());
  growth.held_after = view(mine).capacity;
  table_entries_ += blocks_of(growth.held_after - capacity);
  return growth;
}

bool ManagedAllocator::append_blocks(std::span<const sim::SequenceId> sequences) {
  for (const sim::SequenceId sequence : sequences) {
    catch_up(member(sequence), view(member(sequence)).capacity);
  }
  const std::vector<cache::SequenceHandle> growing = handles(sequences);
  if (!manager_.can_append(growing)) return false;
  for (const sim::SequenceId sequence : sequences) {
    const TokenCount next = view(member(sequence)).context_length + TokenCount(1);
    const auto copies = manager_.reserve(*member(sequence).handle, next);
    RECTO_CHECK_EQ(copies.value().size(), 0u);
  }
  table_entries_ += std::ssize(sequences);
  return true;
}

sim::Growth ManagedAllocator::share(sim::SequenceId parent, sim::SequenceId child,
                                    TokenCount length) {
  const Member& from = member(parent);
  Member& to = member(child);
  if (view(from).context_length < length) catch_up(from, length);
  if (to.handle) RECTO_CHECK_EQ(manager_.release(*to.handle), Status::ok());
  to.handle = manager_.fork(*from.handle).value();
  if (view(to).context_length > length) {
    RECTO_CHECK_EQ(manager_.truncate(*to.handle, length), Status::ok());
  }
  table_entries_ += blocks_of(view(to).capacity);
  return {.hit = length};
}

// The difference of two accounts shows what happened to the slots. The sequence is only preempted
// here, because it may be admitted again.
sim::Release ManagedAllocator::release(sim::SequenceId sequence, TokenCount context) {
  Member& mine = member(sequence);
  if (!mine.handle) return {};
  if (view(mine).state == cache::SequenceState::kSwappingOut) return depart(mine, context);
  if (!is_running(mine)) return {};
  catch_up(mine, context);
  const TokenCount capacity = view(mine).capacity;
  const cache::PoolStates before = manager_.states();
  RECTO_CHECK_EQ(manager_.preempt(*mine.handle), Status::ok());
  const cache::PoolStates after = manager_.states();
  table_entries_ -= blocks_of(capacity);
  return {.held = capacity,
          .kept = context - (before.used - after.used),
          .kept_open = capacity - context - (before.held_empty - after.held_empty)};
}

// For beams the simulator knows only the prompt's tokens, so `context` may be less than what was
// computed. A multimodal item covers the tokens after it: no block with an item is cached here.
void ManagedAllocator::commit(sim::SequenceId sequence, TokenCount context) {
  const Member& mine = member(sequence);
  if (!reuses_prefixes()) return;
  const TokenCount computed = std::max(context, view(mine).context_length);
  catch_up(mine, computed);
  const std::int64_t known_end = full_blocks(context, block_size()) * block_size().value();
  const cache::MultimodalItem unknown{
      .content_hash = 0, .start = known_end, .length = computed.value() - known_end};
  cache::Tokens tokens{.ids = tokens_.first(sequence, computed), .items = {}};
  if (context < computed) tokens.items = {&unknown, 1};
  RECTO_CHECK_EQ(manager_.commit(*mine.handle, tokens), Status::ok());
}

sim::PoolCounts ManagedAllocator::counts() const {
  const cache::PoolStates states = manager_.states();
  sim::PoolCounts counts;
  counts.pool = states.sum() + remainder_;
  counts.held = states.used + states.held_empty;
  counts.cached = states.cached;
  counts.free = states.free;
  counts.overhead = states.overhead + remainder_;
  counts.largest_hole = manager_.available_blocks().value() * block_size();
  counts.table_entries = table_entries_;
  counts.held_blocks = full_blocks(counts.held, block_size());
  return counts;
}

std::string ManagedAllocator::describe() const {
  return "paged, block " + std::to_string(block_size().value()) +
         (reuses_prefixes() ? ", prefix cache" : "");
}

cache::SequenceView ManagedAllocator::view(const Member& member) const {
  return manager_.view(*member.handle).value();
}

bool ManagedAllocator::is_running(const Member& member) const {
  return member.handle && view(member).state == cache::SequenceState::kRunning;
}

std::vector<cache::SequenceHandle> ManagedAllocator::handles(
    std::span<const sim::SequenceId> members) const {
  std::vector<cache::SequenceHandle> handles;
  for (const sim::SequenceId sequence : members) handles.push_back(*member(sequence).handle);
  return handles;
}

// Appends tokens that were computed in slots that only this sequence holds.
void ManagedAllocator::catch_up(const Member& member, TokenCount context) {
  const TokenCount behind = context - view(member).context_length;
  if (behind == TokenCount(0)) return;
  const TokenCount capacity = view(member).capacity;
  const auto copies = manager_.append(*member.handle, behind);
  RECTO_CHECK_EQ(copies.value().size(), 0u);
  RECTO_CHECK_EQ(view(member).capacity, capacity);
}

}  // namespace recto::verify
