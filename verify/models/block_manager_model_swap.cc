// Sequences that wait in host memory; pins and resets.

#include "verify/models/block_manager_model.h"

#include <algorithm>

namespace recto::verify {

// What is ahead of the context or out of every window stays behind, and the place in the prefix
// cache is given up; the rest goes, each block once.
Status BlockManagerModel::send_out(ModelSequence& sequence, std::map<BlockName, BlockName>& host_of,
                                   std::vector<ModelSwapCopy>& copies) {
  drop_from(sequence.device, blocks_of(sequence.context));
  drop_unseen(sequence.device, sequence.context);
  sequence.published.clear();
  sequence.committed = 0;
  sequence.host = sequence.device;
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    for (BlockName& entry : sequence.host[static_cast<std::size_t>(group)]) {
      if (entry == kGone) continue;
      const auto [host, is_new] = host_of.try_emplace(entry, BlockName(names_ + 1));
      if (is_new) {
        ++names_;
        copies.push_back({group, entry, host->second});
      }
      entry = host->second;
    }
  }
  sequence.state = cache::SequenceState::kSwappingOut;
  return host_free() >= 0 ? Status() : Status::exhausted("host blocks");
}

Result<ModelTransfer> BlockManagerModel::swap_out(const std::vector<SequenceName>& names) {
  RECTO_RETURN_IF_ERROR(check_running(names));
  if (options_.host_blocks == BlockCount(0)) return Status::invalid_input("no host pool");
  return attempt([&](BlockManagerModel& trial) -> Result<ModelTransfer> {
    ModelTransfer transfer;
    std::map<BlockName, BlockName> host_of;
    for (const SequenceName name : names) {
      RECTO_RETURN_IF_ERROR(trial.send_out(trial.sequences_.at(name), host_of, transfer.copies));
    }
    transfer.name = TransferName(static_cast<std::int64_t>(++trial.names_));
    trial.transfers_[transfer.name] = {cache::SequenceState::kSwappingOut, names};
    return transfer;
  });
}

Status BlockManagerModel::fetch_in(ModelSequence& sequence, std::int64_t lookahead,
                                   std::map<BlockName, BlockName>& device_of,
                                   std::vector<ModelSwapCopy>& copies) {
  const bool owns_tail = lookahead > 0 && sequence.context % block_size() != 0;
  sequence.device = sequence.host;
  for (std::int32_t group = 0; group < num_groups(); ++group) {
    auto& row = sequence.device[static_cast<std::size_t>(group)];
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] == kGone) continue;
      const BlockName host = row[i];
      const bool is_own = owns_tail && i + 1 == row.size();
      const auto known = device_of.find(host);
      if (!is_own && known != device_of.end()) {
        row[i] = known->second;
        continue;
      }
      // No name of the host's pool while names of the device's are counted.
      row[i] = kGone;
      const std::optional<BlockName> device = take(group);
      if (!device) return Status::exhausted("blocks");
      row[i] = *device;
      copies.push_back({group, *device, host});
      if (!is_own) device_of[host] = *device;
    }
  }
  sequence.state = cache::SequenceState::kSwappingIn;
  return lookahead > 0 ? extend(sequence.device, sequence.context + lookahead) : Status();
}

Result<ModelTransfer> BlockManagerModel::swap_in(const std::vector<SequenceName>& names,
                                                 std::int64_t lookahead) {
  RECTO_RETURN_IF_ERROR(check_state(names, cache::SequenceState::kSwapped));
  if (lookahead < 0) return Status::invalid_input("lookahead");
  for (const SequenceName name : names) {
    if (sequences_.at(name).context + lookahead > most_tokens()) {
      return Status::invalid_input("lookahead");
    }
  }
  return attempt([&](BlockManagerModel& trial) -> Result<ModelTransfer> {
    ModelTransfer transfer;
    std::map<BlockName, BlockName> device_of;
    for (const SequenceName name : names) {
      RECTO_RETURN_IF_ERROR(
          trial.fetch_in(trial.sequences_.at(name), lookahead, device_of, transfer.copies));
    }
    if (trial.available() < options_.watermark.value()) return Status::exhausted("watermark");
    transfer.name = TransferName(static_cast<std::int64_t>(++trial.names_));
    trial.transfers_[transfer.name] = {cache::SequenceState::kSwappingIn, names};
    return transfer;
  });
}

void BlockManagerModel::finish(SequenceName name, cache::SequenceState was) {
  ModelSequence& sequence = sequences_.at(name);
  if (was == cache::SequenceState::kSwappingOut) {
    drop_from(sequence.device, 0);
    sequence.state = cache::SequenceState::kSwapped;
  } else {
    for (auto& row : sequence.host) row.clear();
    sequence.state = cache::SequenceState::kRunning;
  }
  if (!sequence.is_released) return;
  drop_from(sequence.device, 0);
  sequences_.erase(name);
}

Status BlockManagerModel::complete(TransferName transfer) {
  const auto found = transfers_.find(transfer);
  if (found == transfers_.end()) return Status::invalid_input("no such transfer");
  for (const SequenceName name : found->second.sequences) finish(name, found->second.state);
  transfers_.erase(found);
  return Status();
}

Result<ModelPin> BlockManagerModel::pin(const CacheText& prompt) {
  RECTO_RETURN_IF_ERROR(check_text(prompt));
  const TextChain hit = longest_hit(prompt, prompt.length() / block_size());
  if (hit.empty()) return Status::invalid_input("nothing of it is cached");
  if (std::ssize(pins_) >= options_.prefix.max_pins) return Status::exhausted("pins");
  const PinName name(static_cast<std::int64_t>(++names_));
  pins_[name] = hit;
  return ModelPin{.name = name, .length = std::ssize(hit) * block_size()};
}

// What nobody else keeps or holds counts as used now, the end before the start.
Status BlockManagerModel::unpin(PinName pin) {
  const auto found = pins_.find(pin);
  if (found == pins_.end()) return Status::invalid_input("no such pin");
  TextChain chain = found->second;
  pins_.erase(found);
  const std::map<BlockName, std::int64_t> holders = device_holders();
  for (; !chain.empty(); chain.pop_back()) {
    for (std::int32_t group = 0; group < num_groups(); ++group) {
      const auto kept = findable_.find({chain, group});
      if (kept == findable_.end() || is_pinned(kept->second)) continue;
      if (!holders.contains(kept->second)) blocks_.at(kept->second).idle_since = ++clock_;
    }
  }
  return Status();
}

void BlockManagerModel::reset_prefix_cache() {
  if (options_.prefix.caching == cache::PrefixCaching::kOff) return;
  statistics_.cleared += std::ssize(findable_);
  pins_.clear();
  while (!findable_.empty()) forget(findable_.begin()->second);
  for (auto& [name, sequence] : sequences_) {
    sequence.published.clear();
    sequence.saw_reset = true;
  }
}

}  // namespace recto::verify
