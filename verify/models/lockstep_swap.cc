// Blocks on the move between device and host. They are copied at once, and at the end it is seen
// that nobody touched either side: so all instants at which a copy may be made give the same.

#include <algorithm>
#include <set>
#include <utility>

#include "core/contract.h"
#include "verify/models/answers.h"
#include "verify/models/lockstep.h"

namespace recto::verify {
namespace {

// In all tables of these sequences.
std::vector<BlockName> entries_of(const BlockManagerModel& model,
                                  const std::vector<SequenceName>& names,
                                  ModelTable ModelSequence::*table) {
  std::vector<BlockName> entries;
  for (const SequenceName name : names) {
    for (const auto& row : model.sequences().at(name).*table) {
      std::ranges::copy_if(row, std::back_inserter(entries),
                           [](BlockName block) { return block != kGone; });
    }
  }
  return entries;
}

}  // namespace

std::optional<StatusCode> Lockstep::swap_out(const CacheCommand& command) {
  const Picked picked = pick_set(command.who, cache::SequenceState::kRunning);
  if (picked.empty()) return std::nullopt;
  say("swap out " + names_of(picked));
  const bool can = manager_.can_swap_out(handles(picked));
  const auto begun = manager_.swap_out(handles(picked));
  const auto expected = model_.swap_out(names(picked));
  const StatusCode code = same_answer(begun.status(), expected.status());
  RECTO_CHECK_EQ(can, code == StatusCode::kOk);
  if (code != StatusCode::kOk) return code;
  begin_transfer(begun.value(), expected.value(), Direction::kOut);
  const auto entries = entries_of(model_, names(picked), &ModelSequence::device);
  const std::size_t going = expected.value().copies.size();
  happenings_.count_if(entries.size() > going, Happening::kSwapWithSharing);
  const auto holders = model_.device_holders();
  for (const ModelSwapCopy& copy : expected.value().copies) {
    const bool is_kept = holders.at(copy.device) > std::ranges::count(entries, copy.device);
    happenings_.count_if(is_kept, Happening::kSwapSharedWithOthers);
    happenings_.count_if(model_.content(copy.device) != nullptr, Happening::kSwapWithCached);
  }
  return code;
}

std::optional<StatusCode> Lockstep::swap_in(const CacheCommand& command) {
  const Picked picked = pick_set(command.who, cache::SequenceState::kSwapped);
  if (picked.empty()) return std::nullopt;
  std::int64_t lookahead = command.count;
  if (command.extra == kBeyondTable) {
    lookahead = model_.options().max_blocks_per_sequence.value() * block_size() + 1;
  }
  if (command.extra == kNegative) lookahead = -1;
  say("swap in " + names_of(picked) + " lookahead " + std::to_string(lookahead));
  const bool can = manager_.can_swap_in(handles(picked), TokenCount(lookahead));
  const auto begun = manager_.swap_in(handles(picked), TokenCount(lookahead));
  const auto expected = model_.swap_in(names(picked), lookahead);
  const StatusCode code = same_answer(begun.status(), expected.status());
  RECTO_CHECK_EQ(can, code == StatusCode::kOk);
  if (code != StatusCode::kOk) return code;
  begin_transfer(begun.value(), expected.value(), Direction::kIn);
  const auto entries = entries_of(model_, names(picked), &ModelSequence::host);
  std::set<BlockName> sources;
  for (const ModelSwapCopy& copy : expected.value().copies) {
    happenings_.count_if(!sources.insert(copy.host).second, Happening::kSwapInTwice);
  }
  happenings_.count_if(entries.size() > expected.value().copies.size(), Happening::kSwapInShared);
  return code;
}

void Lockstep::begin_transfer(const cache::Transfer& begun, const ModelTransfer& expected,
                              Direction direction) {
  Transfer transfer{.handle = begun.handle,
                    .name = expected.name,
                    .direction = direction,
                    .copies = {begun.copies.begin(), begun.copies.end()},
                    .model_copies = expected.copies};
  RECTO_CHECK_EQ(transfer.copies.size(), expected.copies.size());
  bind_tables();
  if (direction == Direction::kOut) {
    match_out(transfer);
    shadow_.copy_out(transfer.copies);
  } else {
    match_sources(transfer);
    match_in(transfer);
    for (const cache::SwapCopy& copy : transfer.copies) check_unseen(copy.device);
    shadow_.copy_in(transfer.copies);
  }
  transfer.tags = tags_of(transfer, Direction::kOut);
  transfers_.push_back(std::move(transfer));
}

// Each block of the model's goes once, to a host block that nobody has.
void Lockstep::match_out(const Transfer& transfer) {
  for (const ModelSwapCopy& expected : transfer.model_copies) {
    const std::optional<BlockId> device = device_names_.block(expected.device);
    const auto is_it = [&](const cache::SwapCopy& copy) {
      return copy.group == expected.group && copy.device == device;
    };
    RECTO_CHECK_EQ(std::ranges::count_if(transfer.copies, is_it), 1);
    host_names_.bind(expected.host, std::ranges::find_if(transfer.copies, is_it)->host);
  }
}

// From the host blocks that the model says.
void Lockstep::match_sources(const Transfer& transfer) const {
  std::multiset<std::pair<std::int32_t, BlockId>> sources;
  for (const cache::SwapCopy& copy : transfer.copies) sources.insert({copy.group, copy.host});
  for (const ModelSwapCopy& expected : transfer.model_copies) {
    const std::optional<BlockId> host = host_names_.block(expected.host);
    RECTO_CHECK(host);
    const auto found = sources.find({expected.group, *host});
    RECTO_CHECK(found != sources.end());
    sources.erase(found);
  }
}

// To the blocks that tables show.
void Lockstep::match_in(const Transfer& transfer) const {
  for (const ModelSwapCopy& expected : transfer.model_copies) {
    const std::optional<BlockId> device = device_names_.block(expected.device);
    RECTO_CHECK(device);
    const std::optional<BlockId> host = host_names_.block(expected.host);
    RECTO_CHECK(std::ranges::any_of(transfer.copies, [&](const cache::SwapCopy& copy) {
      return copy.group == expected.group && copy.device == *device && copy.host == host;
    }));
  }
}

// What the copied slots hold on the device, if `side` is kOut, or on the host.
std::vector<SlotTag> Lockstep::tags_of(const Transfer& transfer, Direction side) const {
  std::vector<SlotTag> tags;
  for (const cache::SwapCopy& copy : transfer.copies) {
    for (std::int64_t offset = 0; offset < block_size(); ++offset) {
      tags.push_back(side == Direction::kOut ? shadow_.read(copy.group, copy.device, offset)
                                             : shadow_.read_host(copy.group, copy.host, offset));
    }
  }
  return tags;
}

std::optional<StatusCode> Lockstep::complete(const CacheCommand& command) {
  if (transfers_.empty()) return std::nullopt;
  const std::size_t which = static_cast<std::size_t>(command.who & 0xff) % transfers_.size();
  const Transfer transfer = transfers_[which];
  say(transfer.direction == Direction::kOut ? "complete swap out" : "complete swap in");
  RECTO_CHECK(tags_of(transfer, Direction::kOut) == transfer.tags);
  RECTO_CHECK(tags_of(transfer, Direction::kIn) == transfer.tags);
  const Status status = manager_.complete(transfer.handle);
  const StatusCode code = same_answer(status, model_.complete(transfer.name));
  if (code != StatusCode::kOk) return code;
  last_transfer_ = transfer;
  transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(which));
  return code;
}

// The block is in a transfer to the device, and nobody's yet.
bool Lockstep::is_in_flight(BlockId block) const {
  return std::ranges::any_of(transfers_, [block](const Transfer& transfer) {
    return transfer.direction == Direction::kIn &&
           std::ranges::any_of(transfer.copies,
                               [block](const auto& copy) { return copy.device == block; });
  });
}

}  // namespace recto::verify
