#include "cuda/cache/testing/plain_manager.h"

#include <algorithm>
#include <utility>

namespace recto::cache::testing {

PlainManager::PlainManager(std::int32_t num_blocks, std::int64_t block_size,
                           std::optional<std::int64_t> window)
    : block_size_(block_size),
      window_(window),
      available_(num_blocks),
      blocks_(static_cast<std::size_t>(num_blocks)) {
  for (std::int32_t id = 0; id < num_blocks; ++id) free_.push_back({.block = id});
}

std::optional<std::int32_t> PlainManager::allocate() {
  while (!free_.empty()) {
    const Free next = free_.front();
    free_.pop_front();
    Block& block = at(next.block);
    if (block.holders > 0 || block.times_freed != next.times_freed) continue;
    forget(block);
    block.holders = 1;
    --available_;
    return next.block;
  }
  return std::nullopt;
}

void PlainManager::give_back(std::int32_t id) {
  Block& block = at(id);
  if (--block.holders > 0) return;
  const Free entry{.block = id, .times_freed = ++block.times_freed};
  if (block.hash) {
    free_.push_back(entry);
  } else {
    free_.push_front(entry);
  }
  ++available_;
}

void PlainManager::hold(std::int32_t block) {
  if (at(block).holders++ == 0) --available_;
}

void PlainManager::forget(Block& block) {
  if (block.hash) cached_.erase(*block.hash);
  block.hash.reset();
}

void PlainManager::hash_blocks(Sequence& sequence, std::span<const TokenId> ids,
                               std::int64_t blocks) const {
  const auto size = static_cast<std::size_t>(block_size_);
  for (auto next = std::ssize(sequence.hashes); next < blocks; ++next) {
    const BlockHash parent =
        sequence.hashes.empty() ? root_hash() : BlockHash{.low = sequence.hashes.back(), .high = 0};
    const auto tokens = ids.subspan(static_cast<std::size_t>(next) * size, size);
    sequence.hashes.push_back(hasher_(parent, tokens, {}).low);
  }
}

std::optional<std::int32_t> PlainManager::admit(std::span<const TokenId> ids) {
  const std::int64_t length = std::ssize(ids);
  const std::int64_t most = (length - 1) / block_size_;
  const std::int64_t blocks = (length + block_size_ - 1) / block_size_;
  Sequence sequence;
  hash_blocks(sequence, ids, most);
  std::int64_t fresh = blocks;
  std::int64_t revived = 0;
  for (const std::uint64_t hash : sequence.hashes) {
    const auto found = cached_.find(hash);
    if (found == cached_.end()) break;
    if (at(found->second).holders == 0) ++revived;
    sequence.table.push_back(found->second);
    --fresh;
  }
  if (fresh + revived > available_) return std::nullopt;
  for (const std::int32_t block : sequence.table) hold(block);
  sequence.committed = std::ssize(sequence.table);
  sequence.length = sequence.committed * block_size_;
  for (; fresh > 0; --fresh) sequence.table.push_back(*allocate());
  sequences_.emplace(next_sequence_, std::move(sequence));
  return next_sequence_++;
}

bool PlainManager::append_one(Sequence& sequence) {
  const auto block = static_cast<std::size_t>(sequence.length / block_size_);
  if (block == sequence.table.size()) {
    const std::optional<std::int32_t> fresh = allocate();
    if (!fresh) return false;
    sequence.table.push_back(*fresh);
  } else if (at(sequence.table[block]).holders > 1) {
    const std::optional<std::int32_t> fresh = allocate();
    if (!fresh) return false;
    copies_.push_back({.source = sequence.table[block], .destination = *fresh});
    give_back(sequence.table[block]);
    sequence.table[block] = *fresh;
  } else {
    forget(at(sequence.table[block]));
  }
  ++sequence.length;
  if (window_) leave_window(sequence);
  return true;
}

void PlainManager::leave_window(Sequence& sequence) {
  const std::int64_t first_seen = sequence.length - *window_;  // by the newest row
  for (; (sequence.first + 1) * block_size_ <= first_seen; ++sequence.first) {
    std::int32_t& block = sequence.table[static_cast<std::size_t>(sequence.first)];
    give_back(block);
    block = -1;
  }
}

bool PlainManager::append(std::int32_t sequence, std::int64_t count) {
  copies_.clear();
  Sequence& mine = sequences_.at(sequence);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!append_one(mine)) return false;
  }
  return true;
}

bool PlainManager::append(std::span<const std::int32_t> sequences) {
  copies_.clear();
  for (const std::int32_t sequence : sequences) {
    if (!append_one(sequences_.at(sequence))) return false;
  }
  return true;
}

void PlainManager::commit(std::int32_t sequence, std::span<const TokenId> ids) {
  Sequence& mine = sequences_.at(sequence);
  const std::int64_t full = mine.length / block_size_;
  hash_blocks(mine, ids, full);
  for (; mine.committed < full; ++mine.committed) {
    const auto i = static_cast<std::size_t>(mine.committed);
    const bool is_first = cached_.try_emplace(mine.hashes[i], mine.table[i]).second;
    if (is_first) at(mine.table[i]).hash = mine.hashes[i];
  }
}

std::int32_t PlainManager::fork(std::int32_t parent) {
  Sequence child = sequences_.at(parent);
  for (const std::int32_t block : child.table) hold(block);
  sequences_.emplace(next_sequence_, std::move(child));
  return next_sequence_++;
}

void PlainManager::truncate(std::int32_t sequence, std::int64_t length) {
  Sequence& mine = sequences_.at(sequence);
  const auto blocks = static_cast<std::size_t>((length + block_size_ - 1) / block_size_);
  for (; mine.table.size() > blocks; mine.table.pop_back()) {
    if (mine.table.back() >= 0) give_back(mine.table.back());
  }
  mine.committed = std::min(mine.committed, length / block_size_);
  if (std::ssize(mine.hashes) > mine.committed) {
    mine.hashes.resize(static_cast<std::size_t>(mine.committed));
  }
  mine.length = length;
}

void PlainManager::release(std::int32_t sequence) {
  truncate(sequence, 0);
  sequences_.erase(sequence);
}

void PlainManager::reset_prefix_cache() {
  cached_.clear();
  for (Block& block : blocks_) block.hash.reset();
}

void PlainManager::write_tables(std::span<const std::int32_t> sequences, std::int64_t columns,
                                std::span<std::int32_t> buffer) const {
  auto row = buffer.begin();
  for (const std::int32_t sequence : sequences) {
    const std::vector<std::int32_t>& table = sequences_.at(sequence).table;
    std::fill(std::copy(table.begin(), table.end(), row), row + columns, -1);
    row += columns;
  }
}

}  // namespace recto::cache::testing
