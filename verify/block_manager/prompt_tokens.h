#pragma once

// Token ids for sequences of the simulator, which knows only which tokens are alike: runs of known
// identity, explicit ids, and tokens that no other sequence has. Two sequences get equal ids from
// their first token up to where the simulator says that they diverge, and not beyond.
//
// A run of content number n gets the id -1 - 2n for its first token and -2 - 2n for the rest: what
// stands at the same place after equal tokens is the same part of the same run. Explicit ids, which
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

// Numbers for content, below 2^30. A name keeps its number; memory grows with the number of names.
class ContentNumbers {
 public:
  std::int32_t named(std::uint64_t content_id);

  // For tokens that only this member of a request has; the same number until `forget`.
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

// The ids of sequences in flight, made when they are first asked for, as requests may wait long.
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
