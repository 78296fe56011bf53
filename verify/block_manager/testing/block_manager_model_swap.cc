// The model: sequences swapped to host memory; pins and resets.

#include <algorithm>

#include "verify/block_manager/testing/block_manager_model.h"

namespace recto::verify {

// Swaps a sequence out. Blocks after the context or outside every window are dropped, and the
// sequence loses its place in the prefix cache. Each of the other blocks is copied once.
Status BlockManagerModel::send_out(ModelSequence& sequence, std::map<BlockId, BlockId>& host_of,
                                   std::vector<cache::SwapCopy>& copies) {
  drop_from(sequence.device, blocks_of(sequence.context));
  drop_unseen(sequence);
  sequence.published.clear();
  sequence.committed = 0;
  sequence.host = sequence.device;
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    for (BlockId& entry : sequence.host[static_cast<std::size_t>(group)]) {
      if (entry == cache::kNoBlock) continue;
      const auto [host, is_new] = host_of.try_emplace(entry, BlockId(numbers_ + 1));
      if (is_new) copies.push_back({group, entry, BlockId(new_number())});
      entry = host->second;
    }
  }
  sequence.state = cache::SequenceState::kSwappingOut;
  return host_free() >= 0 ? Status() : Status::exhausted("host blocks");
}

Result<ModelTransfer> BlockManagerModel::swap_out(std::span<const cache::SequenceHandle> handles) {
  RECTO_RETURN_IF_ERROR(check_running(handles));
  if (options_.host_blocks == BlockCount(0)) return Status::invalid_input("no host pool");
  return attempt([&](BlockManagerModel& trial) -> Result<ModelTransfer> {
    ModelTransfer transfer;
    std::map<BlockId, BlockId> host_of;
    for (const cache::SequenceHandle handle : handles) {
      RECTO_RETURN_IF_ERROR(trial.send_out(trial.edit(handle), host_of, transfer.copies));
    }
    transfer.handle.index = trial.new_number();
    trial.transfers_[transfer.handle.index] = {cache::SequenceState::kSwappingOut,
                                               {handles.begin(), handles.end()}};
    return transfer;
  });
}

Status BlockManagerModel::fetch_in(ModelSequence& sequence, std::int64_t lookahead,
                                   std::map<BlockId, BlockId>& device_of,
                                   std::vector<cache::SwapCopy>& copies) {
  const bool owns_tail = lookahead > 0 && sequence.context % block_size() != 0;
  sequence.device = sequence.host;
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    auto& row = sequence.device[static_cast<std::size_t>(group)];
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == cache::kNoBlock) continue;
      // The row must not contain a number of the host pool while `take` counts device blocks.
      const BlockId host = std::exchange(row[i], cache::kNoBlock);
      const bool is_own = owns_tail && i + 1 == row.size();
      const auto known = device_of.find(host);
      if (!is_own && known != device_of.end()) {
        row[i] = known->second;
        continue;
      }
      const std::optional<BlockId> device = take(group);
      if (!device) return Status::exhausted("blocks");
      row[i] = *device;
      copies.push_back({group, *device, host});
      if (!is_own) device_of[host] = *device;
    }
  }
  sequence.state = cache::SequenceState::kSwappingIn;
  return lookahead > 0 ? extend(sequence.device, sequence.context + lookahead) : Status();
}

Result<ModelTransfer> BlockManagerModel::swap_in(std::span<const cache::SequenceHandle> handles,
                                                 TokenCount lookahead) {
  RECTO_RETURN_IF_ERROR(check_state(handles, cache::SequenceState::kSwapped));
  const std::int64_t ahead = lookahead.value();
  if (ahead < 0) return Status::invalid_input("lookahead");
  for (const cache::SequenceHandle handle : handles) {
    if (at(handle).context + ahead > max_tokens()) return Status::invalid_input("lookahead");
  }
  return attempt([&](BlockManagerModel& trial) -> Result<ModelTransfer> {
    ModelTransfer transfer;
    std::map<BlockId, BlockId> device_of;
    for (const cache::SequenceHandle handle : handles) {
      RECTO_RETURN_IF_ERROR(trial.fetch_in(trial.edit(handle), ahead, device_of, transfer.copies));
    }
    if (trial.available_blocks() < options_.watermark) return Status::exhausted("watermark");
    transfer.handle.index = trial.new_number();
    trial.transfers_[transfer.handle.index] = {cache::SequenceState::kSwappingIn,
                                               {handles.begin(), handles.end()}};
    return transfer;
  });
}

Status BlockManagerModel::complete(cache::TransferHandle transfer) {
  const auto found = transfers_.find(transfer.index);
  if (found == transfers_.end()) return Status::invalid_input("no such transfer");
  const bool is_out = found->second.state == cache::SequenceState::kSwappingOut;
  for (const cache::SequenceHandle handle : found->second.sequences) {
    ModelSequence& sequence = edit(handle);
    if (is_out || sequence.is_released) drop_from(sequence.device, 0);
    if (!is_out) sequence.host.assign(options_.groups.size(), {});
    sequence.state = is_out ? cache::SequenceState::kSwapped : cache::SequenceState::kRunning;
    if (sequence.is_released) sequences_.erase(handle.index);
  }
  transfers_.erase(found);
  return Status();
}

Result<cache::Pin> BlockManagerModel::pin(const cache::Prompt& prompt) {
  if (!cache::testing::has_proper_items(prompt.tokens)) return Status::invalid_input("items");
  const TextChain hit = longest_hit(prompt, std::ssize(prompt.tokens.ids) / block_size());
  if (hit.empty()) return Status::invalid_input("nothing of it is cached");
  if (std::ssize(pins_) >= options_.prefix.max_pins) return Status::exhausted("pins");
  const cache::PinHandle handle{.index = new_number()};
  pins_[handle.index] = hit;
  return cache::Pin{.handle = handle, .length = std::ssize(hit) * options_.block_size};
}

// Unpinned blocks without another holder or pin count as used now, the last blocks first.
Status BlockManagerModel::unpin(cache::PinHandle pin) {
  const auto found = pins_.find(pin.index);
  if (found == pins_.end()) return Status::invalid_input("no such pin");
  TextChain chain = found->second;
  pins_.erase(found);
  const HolderCounts held = holders();
  for (; !chain.empty(); chain.pop_back()) {
    for (std::int32_t group = 0; group < num_groups(); ++group) {
      const auto kept = findable_.find({chain, group});
      if (kept == findable_.end() || is_pinned(kept->second)) continue;
      if (!held.contains(kept->second)) blocks_.at(kept->second).idle_since = ++clock_;
    }
  }
  return Status();
}

void BlockManagerModel::reset_prefix_cache() {
  if (!is_caching()) return;
  statistics_.cleared += std::ssize(findable_);
  pins_.clear();
  while (!findable_.empty()) forget(findable_.begin()->second);
  for (auto& [index, sequence] : sequences_) {
    sequence.published.clear();
    sequence.saw_reset = true;
  }
}

}  // namespace recto::verify
