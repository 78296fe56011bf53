#pragma once

// An engine that does anything at any time, with tiny pools and two kinds of tokens, so that
// everything happens: exhaustion, eviction, hits on live and on evictable blocks, collisions,
// divergence after forks. After each operation it looks whether the manager's invariants hold, a
// refusal changed nothing, `can_*` said what would be, and every token is where tables say.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "core/status.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/shadow_cache.h"

namespace recto::cache::testing {

// Pools of 2 to 24 blocks of 1 to 4 slots, up to three groups with and without windows.
CacheOptions draw_options(RandomStream& stream);

class RandomWalk {
 public:
  explicit RandomWalk(std::uint64_t seed);

  // One operation; failed, saying what, if anything is wrong after it.
  Status step();

  const BlockManager& manager() const { return manager_; }
  // How often each thing happened.
  const std::map<std::string, std::int64_t>& counts() const { return counts_; }
  std::vector<SequenceHandle> handles() const;

 private:
  // What an engine knows of a sequence.
  struct Live {
    SequenceHandle handle;
    std::vector<TokenId> tokens;  // a prompt, or more; at least the context
    std::vector<MultimodalItem> items;
    CacheKeys keys;
    SequenceState state = SequenceState::kRunning;
  };
  // What `can_*` said.
  struct Announced {
    bool will_succeed = false;
  };
  struct Moving {
    Transfer transfer;
    std::vector<SwapCopy> copies;
    std::vector<SequenceHandle> members;
    bool is_out = false;
  };

  std::int64_t below(std::int64_t bound);
  bool one_in(std::int64_t count) { return below(count) == 0; }
  Prompt prompt_of(const Live& live) const {
    return {.tokens = {.ids = live.tokens, .items = live.items}, .keys = live.keys};
  }
  Live draw_live();
  Live* draw(SequenceState state);
  Live* find(SequenceHandle handle);
  std::vector<SequenceHandle> draw_some(SequenceState state);
  std::int64_t context(const Live& live) const;
  std::vector<std::uint64_t> tags_of(const Live& live, std::int64_t length) const;
  void compute(Live& live, std::int64_t from);
  Status check_all() const;

  // Counts what came out; failed if it is not as announced.
  Status note(const std::string& what, const Status& status);
  Status note(const std::string& what, const Status& status, Announced announced);

  Status admit();
  Status compute_prompt(Live& live);
  Status resume();
  Status append_one_each();
  Status append_many();
  Status reserve();
  Status commit();
  Status fork();
  Status beam_step();
  Status truncate();
  Status release();
  Status preempt();
  Status swap_out();
  Status swap_in();
  Status complete();
  Status pin();
  Status unpin();
  Status reset();
  Status misuse();

  static constexpr int kNumOperations = 25;

  RandomStream stream_;
  BlockManager manager_;
  ShadowCache shadow_;
  std::vector<Live> live_;
  std::vector<SequenceHandle> dead_;
  std::vector<Moving> moving_;
  std::vector<PinHandle> pins_;
  std::set<int> rare_;  // operations, by number
  std::string before_;  // state_text at the start of the step
  std::map<std::string, std::int64_t> counts_;
};

}  // namespace recto::cache::testing
