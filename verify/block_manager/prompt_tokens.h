#pragma once

// Token ids for the simulator's sequences. The simulator knows only which tokens are equal: runs
// with a content id, explicit ids, and tokens that no other sequence has. Two sequences get equal
// ids from their first token up to where the simulator says that they diverge, and not beyond.
//
// A run of content number n gets the id -1 - 2n for its first token and -2 - 2n for the rest. That
// is enough, because the same position after equal tokens is the same part of the same run.
// Explicit ids, which are not negative, are used unchanged.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include "core/units.h"
#include "cuda/cache/prompt.h"
#include "sim/allocators/allocator.h"
#include "sim/request.h"

namespace recto::verify {

// Numbers for content, below 2^30. A content id keeps its number; memory grows with their count.
class ContentNumbers {
 public:
  std::int32_t named(std::uint64_t content_id);

  // The number of tokens that only this member of a request has; it stays the same until `forget`.
  std::int32_t own(const sim::Request& request, std::int32_t member);
  void forget(const sim::Request& request, std::int32_t member);

 private:
  std::int32_t next();

  absl::flat_hash_map<std::uint64_t, std::int32_t> named_;
  absl::flat_hash_map<std::pair<std::int64_t, std::int32_t>, std::int32_t> own_;  // request, member
  std::int32_t count_ = 0;
};

// [final_length]: prompt and output.
std::vector<cache::TokenId> token_ids(const sim::Request& request, std::int32_t member,
                                      ContentNumbers& numbers);

// The ids of sequences in flight. They are made on first use, because requests may wait long.
class PromptTokens {
 public:
  enum class Contents : std::uint8_t { kTold, kAllAlike };

  // kAllAlike is for callers that do not look at the ids.
  explicit PromptTokens(Contents contents) : contents_(contents) {}

  void open(sim::SequenceId sequence, const sim::SequenceSpec& spec);
  void close(sim::SequenceId sequence);

  // [length], within the final length; valid until the next call.
  std::span<const cache::TokenId> first(sim::SequenceId sequence, TokenCount length);

 private:
  struct Entry {
    sim::SequenceSpec spec;
    std::vector<cache::TokenId> ids;
  };

  Contents contents_;
  ContentNumbers numbers_;
  std::vector<Entry> entries_;  // by SequenceId
  std::vector<cache::TokenId> blank_;
};

}  // namespace recto::verify
