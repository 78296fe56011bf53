#pragma once

// Computes how much of the prompts a prefix cache could have served, for an unbounded cache and for
// caches of given sizes.

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "sim/request.h"

namespace recto::sim {

// A bounded set of keys that evicts the least recently touched one.
// Memory O(min(capacity, distinct keys)).
class LruSet {
 public:
  explicit LruSet(std::size_t capacity) : capacity_(capacity) {}

  bool contains(std::uint64_t key) const { return places_.contains(key); }
  std::size_t size() const { return places_.size(); }

  // Makes `key` the newest, inserting it if it is absent; an insertion beyond the capacity evicts
  // the oldest. Amortised O(1).
  void touch(std::uint64_t key);

 private:
  using Place = std::uint32_t;

  // A ring of keys from newest to oldest.
  struct Node {
    std::uint64_t key;
    Place newer;
    Place older;
  };

  Place take_place();
  void unlink(Place place);
  void link_newest(Place place);

  std::size_t capacity_;
  absl::flat_hash_map<std::uint64_t, Place> places_;
  std::vector<Node> nodes_;
  Place newest_ = 0;  // meaningful once nodes_ is not empty
};

struct PrefixReuseOptions {
  // Must be above 0. Prompts with explicit token ids have only full blocks. In prompts of content
  // runs, no block spans two runs, and each run may end in a partial block; so for a trace with one
  // id per block, this should be the format's block size.
  TokenCount block_tokens{16};
  std::vector<TokenCount> lru_capacities = {TokenCount(1'000'000), TokenCount(3'000'000),
                                            TokenCount(10'000'000), TokenCount(50'000'000)};
};

// The blocks of a request match from the first up to the first one that the cache lacks. Afterwards
// they are touched in reverse order, so that the tail of a prompt is evicted first. Tokens outside
// blocks never match but count as prompt tokens.
struct LruFigures {
  TokenCount capacity;  // in whole blocks; a partial block takes a whole one
  std::int64_t hit_blocks = 0;
  TokenCount hit_tokens;  // tokens in the hit blocks
};

struct PrefixReuseFigures {
  std::int64_t requests = 0;  // requests with content
  TokenCount prompt_tokens;   // tokens of their prompts
  std::int64_t blocks = 0;
  std::int64_t full_blocks = 0;
  std::int64_t distinct_blocks = 0;
  std::int64_t hit_blocks = 0;  // in an unbounded cache, partial blocks included
  TokenCount hit_tokens;
  std::int64_t full_hit_blocks = 0;  // the same, where only full blocks are cached
  TokenCount full_hit_tokens;
  std::vector<LruFigures> lru;  // partial blocks included

  // Shares of all blocks, including partial ones, and of all prompt tokens; 0 if there are none.
  double hit_block_share() const { return share(hit_blocks, blocks); }
  double hit_token_share() const { return share(hit_tokens.value(), prompt_tokens.value()); }
  double full_hit_block_share() const { return share(full_hit_blocks, blocks); }
  double full_hit_token_share() const {
    return share(full_hit_tokens.value(), prompt_tokens.value());
  }
  double lru_hit_block_share(std::size_t i) const { return share(lru[i].hit_blocks, blocks); }
  double lru_hit_token_share(std::size_t i) const {
    return share(lru[i].hit_tokens.value(), prompt_tokens.value());
  }

 private:
  static double share(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

// Memory O(distinct blocks): the infinite cache must remember them.
class PrefixReuse {
 public:
  explicit PrefixReuse(PrefixReuseOptions options);

  void add(const Request& request);  // O(blocks of the prompt)
  PrefixReuseFigures figures() const;

 private:
  // These split a prompt into blocks_, each with a key for itself and all blocks before it.
  void split_token_ids(const std::vector<std::int32_t>& ids);
  void split_runs(const std::vector<ContentRun>& runs);
  void count_infinite();

  struct Block {
    std::uint64_t key;
    TokenCount tokens;
  };

  PrefixReuseOptions options_;
  PrefixReuseFigures figures_;
  absl::flat_hash_set<std::uint64_t> seen_;
  std::vector<LruSet> caches_;  // one per capacity
  std::vector<Block> blocks_;   // of the current request
};

}  // namespace recto::sim
