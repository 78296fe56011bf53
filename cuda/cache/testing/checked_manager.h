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

inline Prompt prompt_of(const Ids& ids, const CacheKeys& keys = {}) {
  return {.tokens = {.ids = ids, .items = {}}, .keys = keys};
}

// Blocks of 4 slots, tables of 8 blocks, 6 sequences.
inline CacheOptions small_options(std::int64_t num_blocks) {
  CacheOptions options;
  options.num_blocks = BlockCount(num_blocks);
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
  Result<std::span<const BlockCopy>> try_append(const std::vector<SequenceHandle>& batch) {
    const bool can = manager_.can_append(batch);
    auto copies = call([&](BlockManager& m) { return m.append(batch); });
    CHECK(copies.is_ok() == can);
    return copies;
  }
  std::vector<BlockCopy> append(const std::vector<SequenceHandle>& batch) {
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

 private:
  static Status status_of(const Status& status) { return status; }
  template <typename T>
  static Status status_of(const Result<T>& result) {
    return result.status();
  }

  BlockManager manager_;
};

}  // namespace recto::cache::testing
