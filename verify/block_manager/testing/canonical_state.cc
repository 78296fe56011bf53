#include "verify/block_manager/testing/canonical_state.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace recto::verify {
namespace {

class StateText {
 public:
  explicit StateText(const Lockstep& lockstep) : lockstep_(lockstep), model_(lockstep.model()) {}

  std::string write(const std::vector<std::int32_t>& order) {
    text_.clear();
    device_numbers_.clear();
    host_numbers_.clear();
    for (const std::int32_t name : order) add_sequence(name);
    add_findable();
    for (const BlockId block : model_.eviction_order()) add_device(block);
    text_ += '|';
    std::vector<std::string> pins;
    for (const auto& [name, chain] : model_.pins()) pins.push_back(chain_text(chain));
    std::ranges::sort(pins);
    for (const std::string& pin : pins) text_ += pin + '|';
    add_transfers(order);
    return text_;
  }

 private:
  void add(std::int64_t number) { text_ += static_cast<char>('0' + number); }

  std::string chain_text(const TextChain& chain) const {
    std::string text;
    for (const std::int32_t number : chain) {
      for (const cache::TokenId id : model_.text(number).tokens) {
        text += static_cast<char>('a' + id);
      }
      text += '.';
    }
    return text;
  }

  // Blocks are numbered in the order in which they occur. `!`: the manager has marked the block as
  // unevenly used.
  void add_device(BlockId block) {
    if (block == cache::kNoBlock) {
      text_ += '-';
      return;
    }
    const auto next = static_cast<std::int64_t>(device_numbers_.size());
    const auto [entry, is_new] = device_numbers_.try_emplace(block, next);
    add(entry->second);
    const BlockNames& names = lockstep_.device_blocks();
    if (!is_new || !names.contains(block)) return;
    if (lockstep_.walk().manager().block(names.block(block)).is_uneven) text_ += '!';
  }

  void add_host(BlockId block) {
    const auto next = static_cast<std::int64_t>(host_numbers_.size());
    add(block == cache::kNoBlock ? -1 : host_numbers_.try_emplace(block, next).first->second);
  }

  void add_sequence(std::int32_t name) {
    const ModelSequence& sequence = model_.sequences().at(name);
    add(static_cast<std::int64_t>(sequence.state));
    text_ += sequence.is_released ? 'r' : 'n';
    text_ += sequence.saw_reset ? 'o' : 'n';
    add(sequence.context);
    add(sequence.committed);
    for (const cache::testing::CacheWalk::Actor& actor : lockstep_.walk().actors()) {
      if (lockstep_.name_of(actor.handle).index != name) continue;
      for (const cache::TokenId id : actor.text.ids) text_ += static_cast<char>('a' + id);
    }
    text_ += ';' + chain_text(sequence.published) + ';';
    for (const auto& row : sequence.device) {
      for (const BlockId block : row) add_device(block);
      text_ += ',';
    }
    for (const auto& row : sequence.host) {
      for (const BlockId block : row) add_host(block);
      text_ += ',';
    }
    text_ += '|';
  }

  void add_findable() {
    std::vector<std::pair<std::string, BlockId>> found;
    for (const auto& [key, block] : model_.findable()) {
      found.emplace_back(chain_text(key.chain) + static_cast<char>('0' + key.group), block);
    }
    std::ranges::sort(found, {}, &std::pair<std::string, BlockId>::first);
    for (const auto& [key, block] : found) {
      text_ += key;
      add_device(block);
    }
    text_ += '|';
  }

  void add_transfers(const std::vector<std::int32_t>& order) {
    std::vector<std::string> transfers;
    for (const auto& [name, transfer] : model_.transfers()) {
      std::string text(1, static_cast<char>('0' + static_cast<int>(transfer.state)));
      for (const cache::SequenceHandle sequence : transfer.sequences) {
        const auto place = std::ranges::find(order, sequence.index) - order.begin();
        text += static_cast<char>('0' + place);
      }
      transfers.push_back(std::move(text));
    }
    std::ranges::sort(transfers);
    for (const std::string& transfer : transfers) text_ += transfer + '|';
  }

  const Lockstep& lockstep_;
  const BlockManagerModel& model_;
  std::string text_;
  std::map<BlockId, std::int64_t> device_numbers_;
  std::map<BlockId, std::int64_t> host_numbers_;
};

}  // namespace

std::string canonical_state(const Lockstep& lockstep) {
  std::vector<std::int32_t> order;
  for (const auto& [name, sequence] : lockstep.model().sequences()) order.push_back(name);
  StateText state(lockstep);
  std::string least = state.write(order);
  while (std::ranges::next_permutation(order).found) least = std::min(least, state.write(order));
  return least;
}

}  // namespace recto::verify
