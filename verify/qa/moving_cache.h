#pragma once

// What tests of known bugs say of a block manager, beside the words of checked_manager.h.

#include <cstdint>
#include <vector>

#include "cuda/cache/testing/checked_manager.h"

namespace recto::verify {

using cache::CacheOptions;
using cache::SequenceHandle;
using cache::testing::CheckedManager;
using cache::testing::Ids;
using cache::testing::ids_from;
using cache::testing::prompt_of;
using cache::testing::small_options;

using Handles = std::vector<SequenceHandle>;

// Copies to or from the host that are under way.
struct Moving {
  cache::TransferHandle handle = {};
  std::vector<cache::SwapCopy> copies = {};
};

inline CacheOptions options_with_host(std::int64_t num_blocks, std::int64_t host_blocks) {
  CacheOptions options = small_options(num_blocks);
  options.host_blocks = BlockCount(host_blocks);
  return options;
}

inline Moving begin_out(CheckedManager& cache, const Handles& handles) {
  const cache::Transfer begun =
      cache.call([&](cache::BlockManager& m) { return m.swap_out(handles); }).value();
  return {begun.handle, {begun.copies.begin(), begun.copies.end()}};
}

inline Moving begin_in(CheckedManager& cache, const Handles& handles) {
  const cache::Transfer begun =
      cache.call([&](cache::BlockManager& m) { return m.swap_in(handles); }).value();
  return {begun.handle, {begun.copies.begin(), begun.copies.end()}};
}

inline Status complete(CheckedManager& cache, const Moving& moving) {
  return cache.call([&](cache::BlockManager& m) { return m.complete(moving.handle); });
}

inline Status preempt(CheckedManager& cache, SequenceHandle sequence) {
  return cache.call([&](cache::BlockManager& m) { return m.preempt(sequence); });
}

inline Result<TokenCount> resume(CheckedManager& cache, SequenceHandle sequence, const Ids& ids) {
  return cache.call([&](cache::BlockManager& m) { return m.resume(sequence, prompt_of(ids)); });
}

// Neither more nor less than there is, in each pool and in each group.
inline void check_conservation(const CheckedManager& cache) {
  const cache::BlockManager& manager = cache.manager();
  const CacheOptions& options = manager.options();
  const std::int64_t block_size = options.block_size.value();
  CHECK(manager.states().sum().value() == options.num_blocks.value() * block_size);
  CHECK(manager.host_states().sum().value() == options.host_blocks.value() * block_size);
  cache::GroupStates sum;
  for (std::int32_t group = 0; group < std::ssize(options.groups); ++group) {
    const cache::GroupStates states = manager.group_states(group);
    CHECK(states.used.value() >= 0);
    CHECK(states.held_empty.value() >= 0);
    CHECK(states.cached.value() >= 0);
    sum.used += states.used;
    sum.held_empty += states.held_empty;
    sum.cached += states.cached;
  }
  CHECK(sum.used == manager.states().used);
  CHECK(sum.held_empty == manager.states().held_empty);
  CHECK(sum.cached == manager.states().cached);
}

}  // namespace recto::verify
