#include "cuda/cache/block_manager.h"

#include <utility>

#include "core/contract.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/message.h"
#include "cuda/cache/prompt_reader.h"

namespace recto::cache {
namespace {

Status commit(CacheCore& core, SequenceHandle sequence, const Tokens& tokens) {
  const Result<std::int32_t> index = core.sequences.find_running(sequence);
  if (!index.is_ok()) return index.status();
  const std::int64_t length = core.device.row(index.value()).length;
  if (std::ssize(tokens.ids) < length) {
    return Status::invalid_input(
        message(tokens.ids.size(), " token ids; expected at least the context length, ", length));
  }
  RECTO_RETURN_IF_ERROR(check_tokens(tokens));
  core.prefix.commit(index.value(), tokens);
  return Status::ok();
}

// Checks that each group still has the blocks of the tokens that the next row sees, and the block
// into which it writes.
Status check_windows(const CacheCore& core, std::int32_t sequence, std::int64_t length) {
  for (const std::int32_t group : core.geometry.window_groups()) {
    const std::int64_t needed = core.geometry.first_needed(group, length);
    const std::int64_t first = core.device.first(sequence, group);
    if (first <= needed || core.geometry.blocks_for(length) <= needed) continue;
    return Status::invalid_input(
        message("length ", length, ": its next row sees tokens from ",
                core.geometry.visible(group, length).begin, " on in group ", group,
                ", which has freed the tokens before ", core.geometry.slots_of(first).begin));
  }
  return Status::ok();
}

Status truncate(CacheCore& core, SequenceHandle sequence, TokenCount length) {
  const Result<std::int32_t> index = core.sequences.find_running(sequence);
  if (!index.is_ok()) return index.status();
  const TableRow& row = core.device.row(index.value());
  if (length.value() < 0 || length.value() > row.length) {
    return Status::invalid_input(
        message("length ", length, "; expected 0 to the context length, ", row.length));
  }
  RECTO_RETURN_IF_ERROR(check_windows(core, index.value(), length.value()));
  const std::int64_t kept = core.geometry.blocks_for(length.value());
  core.sequences.log().add(index.value(), kept, row.blocks);
  core.device.drop_behind(index.value(), kept);
  core.device.set_length(index.value(), length.value());
  core.prefix.cut_chain(index.value(), core.geometry.full_blocks(length.value()));
  core.device.stop_run(index.value());
  return Status::ok();
}

Result<std::span<const BlockId>> table_of(const CacheCore& core, const Holdings& holdings,
                                          SequenceHandle sequence, std::int32_t group) {
  const Result<std::int32_t> index = core.sequences.find(sequence);
  if (!index.is_ok()) return index.status();
  if (group >= 0 && group < core.geometry.num_groups()) return holdings.table(index.value(), group);
  return Status::invalid_input(
      message("group ", group, "; expected 0 to ", core.geometry.num_groups() - 1));
}

// Prepends the name of the operation to a failure's message.
template <typename T>
Result<T> in(const char* operation, Result<T> result) {
  return result.is_ok() ? result : result.status().in(operation);
}

}  // namespace

Result<BlockManager> BlockManager::create(const CacheOptions& options) {
  Result<std::unique_ptr<CacheCore>> core = CacheCore::create(options);
  if (!core.is_ok()) return core.status();
  return BlockManager(std::move(core).value());
}

BlockManager::BlockManager(std::unique_ptr<CacheCore> core) : core_(std::move(core)) {}
BlockManager::BlockManager(BlockManager&&) noexcept = default;
BlockManager& BlockManager::operator=(BlockManager&&) noexcept = default;
BlockManager::~BlockManager() = default;

Status BlockManager::commit(SequenceHandle sequence, const Tokens& tokens) {
  return cache::commit(*core_, sequence, tokens).in("commit");
}

Status BlockManager::truncate(SequenceHandle sequence, TokenCount length) {
  return cache::truncate(*core_, sequence, length).in("truncate");
}

Status BlockManager::release(SequenceHandle sequence) {
  const Result<std::int32_t> index = core_->sequences.find(sequence);
  if (!index.is_ok()) return index.status().in("release");
  const SequenceState state = core_->sequences[index.value()].state;
  core_->sequences.retire(index.value());
  const bool is_on_the_move =
      state == SequenceState::kSwappingOut || state == SequenceState::kSwappingIn;
  if (is_on_the_move) {  // `complete` gives back what it has
    core_->sequences.log().add(index.value(), 0, core_->device.row(index.value()).blocks);
    return Status::ok();
  }
  core_->prefix.give_back(index.value());
  core_->swap.give_back(index.value());
  core_->sequences.close(index.value());
  return Status::ok();
}

Status BlockManager::preempt(SequenceHandle sequence) {
  const Result<std::int32_t> index = core_->sequences.find_running(sequence);
  if (!index.is_ok()) return index.status().in("preempt");
  core_->prefix.give_back(index.value());
  core_->sequences[index.value()].state = SequenceState::kPreempted;
  return Status::ok();
}

Result<Transfer> BlockManager::swap_out(std::span<const SequenceHandle> sequences) {
  return in("swap out", core_->swap.swap_out(sequences));
}

bool BlockManager::can_swap_out(std::span<const SequenceHandle> sequences) const {
  return core_->swap.can_swap_out(sequences);
}

Result<Transfer> BlockManager::swap_in(std::span<const SequenceHandle> sequences,
                                       TokenCount lookahead) {
  return in("swap in", core_->swap.swap_in(sequences, lookahead));
}

bool BlockManager::can_swap_in(std::span<const SequenceHandle> sequences,
                               TokenCount lookahead) const {
  return core_->swap.can_swap_in(sequences, lookahead);
}

Status BlockManager::complete(TransferHandle transfer) {
  return core_->swap.complete(transfer).in("complete");
}

Result<Pin> BlockManager::pin(const Prompt& prompt) { return in("pin", core_->prefix.pin(prompt)); }

Status BlockManager::unpin(PinHandle pin) { return core_->prefix.unpin(pin).in("unpin"); }

void BlockManager::reset_prefix_cache() { core_->prefix.reset(); }

Result<SequenceView> BlockManager::view(SequenceHandle sequence) const {
  const Result<std::int32_t> index = core_->sequences.find(sequence);
  if (!index.is_ok()) return index.status().in("view");
  const Sequence& mine = core_->sequences[index.value()];
  const std::int64_t slots = mine.device.blocks * core_->geometry.block_size();
  return SequenceView{.state = mine.state,
                      .context_length = TokenCount(mine.context()),
                      .capacity = TokenCount(slots),
                      .published = BlockCount(mine.chain.published)};
}

Result<std::span<const BlockId>> BlockManager::block_table(SequenceHandle sequence,
                                                           std::int32_t group) const {
  return in("block table", table_of(*core_, core_->device, sequence, group));
}

Result<std::span<const BlockId>> BlockManager::host_block_table(SequenceHandle sequence,
                                                                std::int32_t group) const {
  return in("host block table", table_of(*core_, core_->swap.host(), sequence, group));
}

BlockView BlockManager::block(BlockId block) const {
  const BlockPool& pool = core_->device.pool();
  RECTO_CHECK_GE(block.value(), 0);
  RECTO_CHECK_LT(block.value(), pool.size().value());
  return {.state = pool.state(block),
          .holders = pool.holders(block),
          .is_cached = pool.content(block) != kNoContent,
          .is_pinned = pool.is_pinned(block),
          .is_uneven = pool.is_uneven(block)};
}

std::vector<BlockId> BlockManager::eviction_order() const {
  const BlockPool& pool = core_->device.pool();
  std::vector<BlockId> blocks;
  for (BlockId block = pool.oldest_evictable(); block != kNoBlock; block = pool.next(block)) {
    blocks.push_back(block);
  }
  return blocks;
}

BlockCount BlockManager::available_blocks() const { return core_->device.pool().available(); }

std::int32_t BlockManager::num_sequences() const {
  return core_->sequences.size() - core_->sequences.num_free();
}

PoolStates BlockManager::states() const { return core_->device.states(); }

GroupStates BlockManager::group_states(std::int32_t group) const {
  RECTO_CHECK_GE(group, 0);
  RECTO_CHECK_LT(group, core_->geometry.num_groups());
  return core_->device.group_states(group);
}

PoolStates BlockManager::host_states() const { return core_->swap.host().states(); }

const CacheStatistics& BlockManager::statistics() const { return core_->prefix.statistics(); }

CacheMemory BlockManager::memory() const {
  const Holdings& host = core_->swap.host();
  const PrefixIndex& index = core_->prefix.index();
  return {.block_bytes = core_->device.pool().bytes() + index.bytes(),
          .token_bytes = index.token_bytes(),
          .host_bytes = host.pool().bytes() + core_->swap.copy_bytes(),
          .sequence_bytes = core_->sequences.bytes() + core_->device.table_bytes() +
                            host.table_bytes() + core_->swap.transfers().bytes() +
                            core_->prefix.pins().bytes() + core_->copies.bytes() +
                            core_->requests.bytes() + core_->beams.bytes() +
                            core_->child_counts.bytes()};
}

const CacheOptions& BlockManager::options() const { return core_->options; }

}  // namespace recto::cache
