#pragma once

// Token ids for sequences of the simulator, which knows of tokens only which are alike: runs of
// known identity, explicit ids, and what nobody else has. Two sequences get equal ids from their
// first token up to the one where the simulator says that they part, and not beyond.
//
// A run of content number n is the id of its start, -1 - 2n, and then -2 - 2n for the rest: what
// lies at an equal place behind equal tokens is the same part of the same run. Explicit ids, which
// are not negative, stand for themselves.

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

// Numbers for content, below 2^30. A name keeps its number; the memory of names grows with them.
class ContentNumbers {
 public:
  std::int32_t named(std::uint64_t content_id);

  // Of tokens that this member of a request alone has, until it is forgotten.
  std::int32_t own(const sim::Request& request, std::int32_t member);
  void forget(const sim::Request& request, std::int32_t member);

 private:
  std::int32_t next();

  absl::flat_hash_map<std::uint64_t, std::int32_t> named_;
  absl::flat_hash_map<std::pair<std::int64_t, std::int32_t>, std::int32_t> own_;  // request, member
  std::int32_t count_ = 0;
};

// [final_length], prompt and output.
std::vector<cache::TokenId> token_ids(const sim::Request& request, std::int32_t member,
                                      ContentNumbers& numbers);

// The ids of sequences in flight, made when they are first asked for: requests may wait for long.
class PromptTokens {
 public:
  enum class Contents : std::uint8_t { kTold, kAllAlike };

  // All alike, for who does not look at them.
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
