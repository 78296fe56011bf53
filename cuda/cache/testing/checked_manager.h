#pragma once

// A block manager for tests with explicit tokens: after each operation it checks the invariants,
// and that a refused operation changed nothing.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/invariants.h"
#include "cuda/cache/testing/state_text.h"

namespace recto::cache::testing {

using Ids = std::vector<TokenId>;
using Handles = std::vector<SequenceHandle>;

// A transfer with its own copy of the list of copies.
struct Moved {
  TransferHandle handle = {};
  std::vector<SwapCopy> copies = {};
};

inline Prompt prompt_of(const Ids& ids, const CacheKeys& keys = {}) {
  return {.tokens = {.ids = ids, .items = {}}, .keys = keys};
}

// Blocks of 4 slots, tables of 8 blocks, 6 sequences.
inline CacheOptions small_options(std::int64_t num_blocks, std::int64_t host_blocks = 0) {
  CacheOptions options;
  options.num_blocks = BlockCount(num_blocks);
  options.host_blocks = BlockCount(host_blocks);
  options.block_size = TokenCount(4);
  options.max_sequences = 6;
  options.max_blocks_per_sequence = BlockCount(8);
  return options;
}

// Consecutive ids from `first` on.
inline Ids ids_from(TokenId first, std::int64_t count) {
  Ids ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(first + static_cast<TokenId>(i));
  return ids;
}

class CheckedManager {
 public:
  explicit CheckedManager(const CacheOptions& options)
      : manager_(BlockManager::create(options).value()) {}

  // Calls any operation: call([](BlockManager& m) { return m.release(handle); })
  template <typename Operation>
  auto call(const Operation& operation) {
    const std::string before = state_text(manager_);
    auto result = operation(manager_);
    CHECK(check_invariants(manager_) == Status::ok());
    if (!status_of(result).is_ok()) CHECK(state_text(manager_) == before);
    return result;
  }

  Result<Admission> try_admit(const Prompt& prompt, std::optional<TokenCount> room = {}) {
    const bool can = manager_.can_admit(prompt, room);
    auto admitted = call([&](BlockManager& m) { return m.admit(prompt, room); });
    CHECK(admitted.is_ok() == can);
    return admitted;
  }
  Admission admit(const Prompt& prompt) { return try_admit(prompt).value(); }
  SequenceHandle admit(const Ids& ids) { return admit(prompt_of(ids)).sequence; }

  Result<std::span<const BlockCopy>> try_append(SequenceHandle sequence, std::int64_t count) {
    return call([&](BlockManager& m) { return m.append(sequence, TokenCount(count)); });
  }
  std::vector<BlockCopy> append(SequenceHandle sequence, std::int64_t count) {
    const auto copies = try_append(sequence, count).value();
    return {copies.begin(), copies.end()};
  }
  Result<std::span<const BlockCopy>> try_append(const Handles& batch) {
    const bool can = manager_.can_append(batch);
    auto copies = call([&](BlockManager& m) { return m.append(batch); });
    CHECK(copies.is_ok() == can);
    return copies;
  }
  std::vector<BlockCopy> append(const Handles& batch) {
    const auto copies = try_append(batch).value();
    return {copies.begin(), copies.end()};
  }
  std::vector<BlockCopy> reserve(SequenceHandle sequence, std::int64_t length) {
    const auto copies =
        call([&](BlockManager& m) { return m.reserve(sequence, TokenCount(length)); }).value();
    return {copies.begin(), copies.end()};
  }
  Status commit(SequenceHandle sequence, const Ids& ids) {
    return call([&](BlockManager& m) { return m.commit(sequence, prompt_of(ids).tokens); });
  }
  SequenceHandle fork(SequenceHandle parent) {
    return call([&](BlockManager& m) { return m.fork(parent); }).value();
  }
  Status truncate(SequenceHandle sequence, std::int64_t length) {
    return call([&](BlockManager& m) { return m.truncate(sequence, TokenCount(length)); });
  }
  Status release(SequenceHandle sequence) {
    return call([&](BlockManager& m) { return m.release(sequence); });
  }
  Status preempt(SequenceHandle sequence) {
    return call([&](BlockManager& m) { return m.preempt(sequence); });
  }
  Result<TokenCount> resume(SequenceHandle sequence, const Ids& ids) {
    const bool can = manager_.can_resume(sequence, prompt_of(ids));
    auto hit = call([&](BlockManager& m) { return m.resume(sequence, prompt_of(ids)); });
    CHECK(hit.is_ok() == can);
    return hit;
  }
  Result<Transfer> try_swap_out(const Handles& handles) {
    const bool can = manager_.can_swap_out(handles);
    auto transfer = call([&](BlockManager& m) { return m.swap_out(handles); });
    CHECK(transfer.is_ok() == can);
    return transfer;
  }
  Moved swap_out(const Handles& handles) { return kept(try_swap_out(handles).value()); }
  Result<Transfer> try_swap_in(const Handles& handles, std::int64_t lookahead = 0) {
    const TokenCount tokens(lookahead);
    const bool can = manager_.can_swap_in(handles, tokens);
    auto transfer = call([&](BlockManager& m) { return m.swap_in(handles, tokens); });
    CHECK(transfer.is_ok() == can);
    return transfer;
  }
  Moved swap_in(const Handles& handles, std::int64_t lookahead = 0) {
    return kept(try_swap_in(handles, lookahead).value());
  }
  Status complete(TransferHandle transfer) {
    return call([&](BlockManager& m) { return m.complete(transfer); });
  }
  void reset() {
    manager_.reset_prefix_cache();
    CHECK(check_invariants(manager_) == Status::ok());
  }

  // Admits a sequence that computes and publishes these ids.
  SequenceHandle computed(const Ids& ids, const CacheKeys& keys = {}) {
    const Admission admitted = admit(prompt_of(ids, keys));
    append(admitted.sequence, std::ssize(ids) - admitted.hit.value());
    CHECK(commit(admitted.sequence, ids) == Status::ok());
    return admitted.sequence;
  }
  // Computes, publishes and releases a sequence; its blocks stay cached.
  void visit(const Ids& ids, const CacheKeys& keys = {}) {
    CHECK(release(computed(ids, keys)) == Status::ok());
  }
  std::int64_t hit(const Ids& ids, const CacheKeys& keys = {}) const {
    return manager_.cached_prefix(prompt_of(ids, keys)).value();
  }

  std::vector<std::int32_t> table(SequenceHandle sequence, std::int32_t group = 0) const {
    std::vector<std::int32_t> ids;
    const std::span<const BlockId> blocks = manager_.block_table(sequence, group).value();
    for (const BlockId block : blocks) ids.push_back(block.value());
    return ids;
  }
  SequenceView view(SequenceHandle sequence) const { return manager_.view(sequence).value(); }
  std::int64_t available() const { return manager_.available_blocks().value(); }

  BlockManager& manager() { return manager_; }
  const BlockManager& manager() const { return manager_; }

  // The states of all slots add up to the pools, and those of the groups to the device's.
  void check_conservation() const {
    const CacheOptions& options = manager_.options();
    const std::int64_t block_size = options.block_size.value();
    CHECK(manager_.states().sum().value() == options.num_blocks.value() * block_size);
    CHECK(manager_.host_states().sum().value() == options.host_blocks.value() * block_size);
    GroupStates sum;
    for (std::int32_t group = 0; group < std::ssize(options.groups); ++group) {
      const GroupStates states = manager_.group_states(group);
      CHECK(states.used.value() >= 0);
      CHECK(states.held_empty.value() >= 0);
      CHECK(states.cached.value() >= 0);
      sum.used += states.used;
      sum.held_empty += states.held_empty;
      sum.cached += states.cached;
    }
    CHECK(sum.used == manager_.states().used);
    CHECK(sum.held_empty == manager_.states().held_empty);
    CHECK(sum.cached == manager_.states().cached);
  }

 private:
  static Moved kept(const Transfer& transfer) {
    return {transfer.handle, {transfer.copies.begin(), transfer.copies.end()}};
  }
  static Status status_of(const Status& status) { return status; }
  template <typename T>
  static Status status_of(const Result<T>& result) {
    return result.status();
  }

  BlockManager manager_;
};

}  // namespace recto::cache::testing
