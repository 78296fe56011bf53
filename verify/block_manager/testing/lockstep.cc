#include "verify/block_manager/testing/lockstep.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "cuda/cache/message.h"

namespace recto::verify {
namespace {

using cache::testing::CacheAnswer;
using cache::testing::CacheCall;
using cache::testing::CacheCommand;
using cache::testing::CacheWalk;
using cache::testing::CommandKind;

// The counts of a manager or of a model, one line each.
template <typename Manager>
std::string counts_of(const Manager& manager) {
  std::string text = cache::message("available ", manager.available_blocks());
  for (const auto& [side, states] :
       {std::pair("device", manager.states()), std::pair("host", manager.host_states())}) {
    text += cache::message("\n", side, ": used ", states.used, ", held empty ", states.held_empty,
                           ", cached ", states.cached, ", pinned ", states.pinned, ", free ",
                           states.free, ", overhead ", states.overhead);
  }
  for (std::size_t group = 0; group < manager.options().groups.size(); ++group) {
    const cache::GroupStates part = manager.group_states(static_cast<std::int32_t>(group));
    text += cache::message("\ngroup ", group, ": used ", part.used, ", held empty ",
                           part.held_empty, ", cached ", part.cached, ", pinned ", part.pinned);
  }
  const cache::CacheStatistics& counts = manager.statistics();
  return text + cache::message(
                    "\nqueries ", counts.queries, ", tokens ", counts.query_tokens, ", hit ",
                    counts.hit_tokens, ", stored ", counts.stored, ", evicted ", counts.evicted,
                    ", for nodes ", counts.evicted_for_nodes, ", overwritten ", counts.overwritten,
                    ", cleared ", counts.cleared, ", duplicates ", counts.duplicates, ", no node ",
                    counts.no_node, ", too many items ", counts.too_many_items);
}

std::string text_of(const cache::SequenceView& view) {
  return cache::message(cache::sequence_state_name(view.state), ", context ", view.context_length,
                        ", capacity ", view.capacity, ", published ", view.published);
}

std::string text_of(const Status& status) {
  constexpr std::array<const char*, 4> kCodes = {"ok", "invalid input", "exhausted", "failed"};
  return kCodes[static_cast<std::size_t>(status.code())];
}

}  // namespace

void Lockstep::run(const CacheCommand& command) {
  const std::optional<CacheCall> call = walk_.meaning(command);
  if (!call) return coverage_.count_skipped();
  const CacheAnswer answer = walk_.perform(command, *call);
  if (call->kind != CommandKind::kMisuse) {
    const BlockManagerModel before = model_;
    const CacheCall same = renamed(*call);
    count_events(before, same, follow(*call, same, answer));
  }
  walk_.check();
  compare();
}

void Lockstep::replay(const CacheCommand& command) {
  const std::optional<CacheCall> call = walk_.meaning(command);
  if (!call) return;
  const CacheCall same = renamed(*call);
  follow(*call, same, walk_.perform(command, *call, CacheWalk::Checks::kNone));
}

CacheCall Lockstep::renamed(CacheCall call) const {
  for (cache::SequenceHandle& handle : call.sequences) handle = name_of(handle);
  if (call.kind == CommandKind::kComplete) call.transfer = {transfers_.at(call.transfer.index)};
  if (call.kind == CommandKind::kUnpin) call.pin = {pins_.at(call.pin.index)};
  return call;
}

CacheAnswer Lockstep::follow(const CacheCall& call, const CacheCall& same,
                             const CacheAnswer& answer) {
  const CacheAnswer expected = carry_out(model_, same);
  RECTO_CHECK_EQ(text_of(answer.status), text_of(expected.status));
  if (!answer.status.is_ok()) return expected;
  RECTO_CHECK_EQ(answer.length, expected.length);
  RECTO_CHECK_EQ(answer.sequences.size(), expected.sequences.size());
  for (std::size_t i = 0; i < answer.sequences.size(); ++i) {
    const cache::SequenceHandle handle = answer.sequences[i];
    const cache::SequenceHandle name = expected.sequences[i];
    // A beam that keeps its handle keeps its name; all other handles are new.
    const bool goes_on = std::ranges::find(call.sequences, handle) != call.sequences.end();
    if (goes_on) RECTO_CHECK_EQ(name, name_of(handle));
    sequences_[handle.index] = name.index;
  }
  const bool is_swap = call.kind == CommandKind::kSwapOut || call.kind == CommandKind::kSwapIn;
  if (is_swap) transfers_[answer.transfer.index] = expected.transfer.index;
  if (call.kind == CommandKind::kPin) pins_[answer.pin.index] = expected.pin.index;
  bind_tables();
  compare_copies(answer, expected);
  return expected;
}

// New table entries define which physical block a new name stands for.
void Lockstep::bind_tables() {
  device_blocks_.keep([this](BlockId name) { return model_.has_block(name); });
  const HolderCounts hosts = model_.holders(&ModelSequence::host);
  host_blocks_.keep([&hosts](BlockId name) { return hosts.contains(name); });
  const auto bind = [](std::span<const BlockId> table, const ModelTable& expected,
                       std::int32_t group, BlockNames& names) {
    const auto index = static_cast<std::size_t>(group);
    const std::vector<BlockId> row =
        index < expected.size() ? expected[index] : std::vector<BlockId>();
    RECTO_CHECK_EQ(table.size(), row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      RECTO_CHECK_EQ(table[i] == cache::kNoBlock, row[i] == cache::kNoBlock);
      if (row[i] != cache::kNoBlock) names.bind(row[i], table[i]);
    }
  };
  for (const CacheWalk::Actor& actor : walk_.actors()) {
    const ModelSequence& expected = model_.at(name_of(actor.handle));
    for (std::int32_t group = 0; group < num_groups(); ++group) {
      const cache::BlockManager& manager = walk_.manager();
      bind(manager.block_table(actor.handle, group).value(), expected.device, group,
           device_blocks_);
      bind(manager.host_block_table(actor.handle, group).value(), expected.host, group,
           host_blocks_);
    }
  }
}

// The copies must equal the model's, up to names and order.
void Lockstep::compare_copies(const CacheAnswer& answer, const CacheAnswer& expected) const {
  using Copy = std::tuple<std::int32_t, BlockId, BlockId, TokenCount>;
  std::vector<Copy> made;
  std::vector<Copy> wanted;
  for (const cache::BlockCopy& copy : answer.copies) {
    made.emplace_back(copy.group, copy.source, copy.destination, copy.slots);
  }
  for (const cache::BlockCopy& copy : expected.copies) {
    wanted.emplace_back(copy.group, device_blocks_.block(copy.source),
                        device_blocks_.block(copy.destination), copy.slots);
  }
  for (const cache::SwapCopy& copy : answer.swaps) {
    made.emplace_back(copy.group, copy.device, copy.host, options().block_size);
  }
  for (const cache::SwapCopy& copy : expected.swaps) {
    wanted.emplace_back(copy.group, device_blocks_.block(copy.device),
                        host_blocks_.block(copy.host), options().block_size);
  }
  std::ranges::sort(made);
  std::ranges::sort(wanted);
  RECTO_CHECK(made == wanted);
}

void Lockstep::compare() {
  const cache::BlockManager& manager = walk_.manager();
  RECTO_CHECK_EQ(counts_of(manager), counts_of(model_));
  RECTO_CHECK_EQ(manager.num_sequences(), std::ssize(model_.sequences()));
  RECTO_CHECK_EQ(manager.states().sum(), options().num_blocks.value() * options().block_size);
  for (const CacheWalk::Actor& actor : walk_.actors()) {
    RECTO_CHECK_EQ(text_of(manager.view(actor.handle).value()),
                   text_of(model_.view(name_of(actor.handle)).value()));
  }
  compare_statistics();
  compare_index();
  compare_lookups();
}

// Checks statistics that the model cannot predict exactly. The number of collisions depends on the
// hashes: it never decreases, and it is 0 if the hasher keeps all bits.
void Lockstep::compare_statistics() {
  const cache::CacheStatistics& counts = walk_.manager().statistics();
  const bool has_nodes_enough = !options().prefix.max_nodes && !model_.met_words();
  if (has_nodes_enough) RECTO_CHECK_EQ(counts.no_node, 0);
  RECTO_CHECK_GE(counts.collisions, collisions_);
  if (options().prefix.hasher.mask == ~std::uint64_t{0}) RECTO_CHECK_EQ(counts.collisions, 0);
  coverage_.count("collisions", counts.collisions - collisions_);
  collisions_ = counts.collisions;
}

// Compares the prefix index, by its events, and the eviction order.
void Lockstep::compare_index() const {
  const auto& stored = walk_.events().stored();
  RECTO_CHECK_EQ(stored.size(), model_.findable().size());
  std::map<TextChain, std::vector<cache::testing::SlotTag>> tags;
  for (const auto& [key, name] : model_.findable()) {
    const BlockId block = device_blocks_.block(name);
    RECTO_CHECK(stored.contains({block, key.group}));
    const cache::testing::EventMirror::Stored& found = stored.at({block, key.group});
    const cache::testing::BlockText& text = model_.text(key.chain.back());
    RECTO_CHECK(found.tokens == text.tokens && found.words == text.words);
    // Equal chains of blocks must have equal K and V.
    RECTO_CHECK(tags.try_emplace(key.chain, found.tags).first->second == found.tags);
    cache::BlockHash hash = cache::root_hash();
    for (std::size_t i = 0; i < key.chain.size(); ++i) {
      if (i + 1 == key.chain.size()) RECTO_CHECK_EQ(found.parent_hash, hash);
      const cache::testing::BlockText& step = model_.text(key.chain[i]);
      hash = options().prefix.hasher(hash, step.tokens, step.words);
    }
    RECTO_CHECK_EQ(found.hash, hash);
    RECTO_CHECK_EQ(walk_.manager().block(block).is_pinned, model_.is_pinned(name));
  }
  std::vector<BlockId> expected;
  for (const BlockId name : model_.eviction_order()) {
    expected.push_back(device_blocks_.block(name));
  }
  RECTO_CHECK(walk_.manager().eviction_order() == expected);
}

// Compares const queries.
void Lockstep::compare_lookups() {
  for (const cache::testing::CacheText& text : walk_.remembered()) {
    RECTO_CHECK_EQ(walk_.manager().cached_prefix(text.prompt()),
                   model_.cached_prefix(text.prompt()));
  }
  std::vector<cache::SequenceHandle> running = walk_.all_in(cache::SequenceState::kRunning);
  const bool can = walk_.manager().can_append(running);
  for (cache::SequenceHandle& handle : running) handle = name_of(handle);
  BlockManagerModel trial = model_;
  RECTO_CHECK_EQ(can, trial.append(running).is_ok());
}

}  // namespace recto::verify
