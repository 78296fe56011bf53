#include "sim/traces/prefix_reuse.h"

#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::sim {
void LruSet::touch(std::uint64_t key) {
  if (capacity_ == 0) return;
  const auto found = places_.find(key);
  Place place = 0;
  if (found != places_.end()) {
    place = found->second;
    if (place == newest_) return;
    unlink(place);
  } else {
    place = take_place();
    nodes_[place].key = key;
    places_.emplace(key, place);
  }
  link_newest(place);
}

// A place for a new key: an unused one, or that of the oldest key.
LruSet::Place LruSet::take_place() {
  if (nodes_.size() < capacity_) {
    nodes_.push_back({});
    return static_cast<Place>(nodes_.size() - 1);
  }
  const Place oldest = nodes_[newest_].newer;
  places_.erase(nodes_[oldest].key);
  unlink(oldest);
  return oldest;
}

void LruSet::unlink(Place place) {
  const Node& node = nodes_[place];
  nodes_[node.newer].older = node.older;
  nodes_[node.older].newer = node.newer;
  if (place == newest_) newest_ = node.older;
}

void LruSet::link_newest(Place place) {
  Node& node = nodes_[place];
  if (places_.size() == 1) {
    node.newer = node.older = place;
  } else {
    // The list is a ring: the "newer" neighbour of the newest key is the oldest.
    const Place oldest = nodes_[newest_].newer;
    node.older = newest_;
    node.newer = oldest;
    nodes_[newest_].newer = place;
    nodes_[oldest].older = place;
  }
  newest_ = place;
}

// Keys are 64-bit hashes: among a million distinct blocks, two share one with probability 3e-8.

PrefixReuse::PrefixReuse(PrefixReuseOptions options) : options_(std::move(options)) {
  RECTO_CHECK_GT(options_.block_tokens, TokenCount(0));
  for (const TokenCount capacity : options_.lru_capacities) {
    RECTO_CHECK_GE(capacity, TokenCount(0));
    const std::int64_t blocks = capacity.value() / options_.block_tokens.value();
    caches_.emplace_back(static_cast<std::size_t>(blocks));
    figures_.lru.push_back({.capacity = capacity, .hit_blocks = 0, .hit_tokens = {}});
  }
}

void PrefixReuse::add(const Request& request) {
  if (request.content == nullptr) return;
  blocks_.clear();
  if (!request.content->prompt_token_ids.empty()) {
    split_token_ids(request.content->prompt_token_ids);
  } else {
    split_runs(request.content->prompt_runs);
  }
  ++figures_.requests;
  figures_.prompt_tokens += request.prompt_tokens;
  figures_.blocks += static_cast<std::int64_t>(blocks_.size());
  count_infinite();

  for (std::size_t i = 0; i < caches_.size(); ++i) {
    LruSet& cache = caches_[i];
    const auto miss = std::find_if(blocks_.begin(), blocks_.end(),
                                   [&](const Block& block) { return !cache.contains(block.key); });
    figures_.lru[i].hit_blocks += miss - blocks_.begin();
    std::for_each(blocks_.begin(), miss,
                  [&](const Block& block) { figures_.lru[i].hit_tokens += block.tokens; });
    std::for_each(blocks_.rbegin(), blocks_.rend(),
                  [&](const Block& block) { cache.touch(block.key); });
  }
}

void PrefixReuse::split_token_ids(const std::vector<std::int32_t>& ids) {
  const auto block_tokens = static_cast<std::size_t>(options_.block_tokens.value());
  std::uint64_t key = 0;
  for (std::size_t start = 0; start + block_tokens <= ids.size(); start += block_tokens) {
    key = XXH3_64bits_withSeed(&ids[start], block_tokens * sizeof(ids[start]), key);
    blocks_.push_back({key, options_.block_tokens});
  }
}

void PrefixReuse::split_runs(const std::vector<ContentRun>& runs) {
  std::uint64_t key = 0;
  for (const ContentRun& run : runs) {
    for (TokenCount start; start < run.length; start += options_.block_tokens) {
      const TokenCount tokens = std::min(options_.block_tokens, run.length - start);
      for (const std::uint64_t part : {run.content_id, static_cast<std::uint64_t>(start.value()),
                                       static_cast<std::uint64_t>(tokens.value())}) {
        key = mix_bits(mix_bits(key) + part);
      }
      blocks_.push_back({key, tokens});
    }
  }
}

void PrefixReuse::count_infinite() {
  // One set serves both counts: keys are chained, so the hits with full blocks alone are those
  // before the first partial block.
  const auto is_full = [&](const Block& block) { return block.tokens == options_.block_tokens; };
  const auto miss = std::find_if(blocks_.begin(), blocks_.end(),
                                 [&](const Block& block) { return !seen_.contains(block.key); });
  for (auto block = blocks_.begin(); block != miss; ++block) {
    ++figures_.hit_blocks;
    figures_.hit_tokens += block->tokens;
  }
  const auto full_end = std::find_if_not(blocks_.begin(), miss, is_full);
  for (auto block = blocks_.begin(); block != full_end; ++block) {
    ++figures_.full_hit_blocks;
    figures_.full_hit_tokens += block->tokens;
  }
  for (const Block& block : blocks_) {
    if (is_full(block)) ++figures_.full_blocks;
    seen_.insert(block.key);
  }
}

PrefixReuseFigures PrefixReuse::figures() const {
  PrefixReuseFigures figures = figures_;
  figures.distinct_blocks = static_cast<std::int64_t>(seen_.size());
  return figures;
}

}  // namespace recto::sim
