#include "cuda/cache/testing/plain_manager.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/cache_walk.h"

namespace recto::cache::testing {
namespace {

constexpr std::int64_t kBlockSize = 2;
constexpr std::int64_t kNumBlocks = 14;
constexpr std::int64_t kMaxTokens = 20;

CacheOptions options() {
  CacheOptions options;
  options.num_blocks = BlockCount(kNumBlocks);
  options.block_size = TokenCount(kBlockSize);
  options.max_sequences = 8;
  options.max_blocks_per_sequence = BlockCount(kMaxTokens / kBlockSize);
  // Never full, because the plain manager has no such limit.
  options.prefix.max_nodes = 1000;
  return options;
}

// Two managers that carry out the same calls.
class Pair {
 public:
  Pair(std::uint64_t seed, Coverage& coverage)
      : stream_(RandomStream(seed).split("plain manager")), walk_(options(), 2, coverage) {}

  void step() {
    using enum CommandKind;
    // Growth is more frequent than release, so that the pool fills up.
    constexpr std::array kKinds = {kAdmit,  kAdmit,  kAdmit, kAdmit,    kAppend,
                                   kAppend, kCommit, kFork,  kTruncate, kRelease};
    CacheCommand command{.kind = kKinds[static_cast<std::size_t>(below(kKinds.size()))],
                         .who = below(8),
                         .base = below(4),
                         .length = below(kMaxTokens + 1),
                         .count = below(4),
                         .token = below(256)};
    // Writes the removed text again after a cut, so that no block changes its content.
    if (command.kind == kTruncate || command.kind == kFork) command.flavour = kKeepText;
    const std::optional<CacheCall> call = walk_.meaning(command);
    if (!call || !suits_both(*call)) return;
    if (call->kind == kFork) cut_lookahead(call->sequences.front());
    follow(*call, walk_.perform(command, *call));
    walk_.check();
  }
  // Checks that both have the same lengths, and share the same blocks.
  void compare() {
    const BlockManager& real = walk_.manager();
    CHECK(plain_.available() == real.available_blocks().value());
    std::map<std::int32_t, std::int32_t> renamed;
    for (const CacheWalk::Actor& actor : walk_.actors()) {
      const std::int32_t plain = names_.at(actor.handle.index);
      CHECK(plain_.context_length(plain) == std::ssize(actor.tags));
      const auto mine = real.block_table(actor.handle, 0).value();
      const std::vector<std::int32_t>& theirs = plain_.table(plain);
      REQUIRE(mine.size() == theirs.size());
      for (std::size_t i = 0; i < mine.size(); ++i) {
        CHECK(renamed.try_emplace(theirs[i], mine[i].value()).first->second == mine[i].value());
      }
    }
  }
  std::map<std::string, std::int64_t> counts;

 private:
  std::int32_t below(std::uint64_t bound) {
    return static_cast<std::int32_t>(stream_.next_below(bound));
  }

  // The plain manager has no limits, and would do half of an append that does not fit.
  bool suits_both(const CacheCall& call) const {
    using enum CommandKind;
    const bool is_full = walk_.actors().size() == 8;
    if (call.kind == kFork) return !is_full;
    if (call.kind == kAdmit) {
      return !is_full && call.text.length() > 0 && call.text.length() <= kMaxTokens;
    }
    if (call.kind != kAppend) return true;
    const std::int64_t left = kMaxTokens - plain_.context_length(name_of(call));
    return call.count.value() <= std::min(left, plain_.available());
  }

  std::int32_t name_of(const CacheCall& call) const {
    return names_.at(call.sequences.front().index);
  }

  // Lookahead stays with the parent, which the plain manager does not know.
  void cut_lookahead(SequenceHandle handle) {
    const auto place = std::ranges::find(walk_.actors(), handle, &CacheWalk::Actor::handle);
    const auto context = static_cast<std::int32_t>(place->tags.size());
    walk_.run({.kind = CommandKind::kTruncate,
               .who = static_cast<std::int32_t>(place - walk_.actors().begin()),
               .length = context,
               .flavour = kKeepText});
    plain_.truncate(names_.at(handle.index), context);
  }

  void follow(const CacheCall& call, const CacheAnswer& answer) {
    using enum CommandKind;
    if (call.kind == kAdmit) {
      const std::optional<std::int32_t> plain = plain_.admit(call.text.ids);
      REQUIRE(answer.status.is_ok() == plain.has_value());
      counts[plain ? "admitted" : "refused"] += 1;
      if (!plain) return;
      counts["hit tokens"] += answer.length.value();
      names_[answer.sequences.front().index] = *plain;
      return;
    }
    REQUIRE(answer.status == Status::ok());
    const std::int32_t name = name_of(call);
    if (call.kind == kCommit) plain_.commit(name, call.text.ids);
    if (call.kind == kFork) names_[answer.sequences.front().index] = plain_.fork(name);
    if (call.kind == kTruncate) plain_.truncate(name, call.count.value());
    if (call.kind == kRelease) plain_.release(name);
    if (call.kind == kAppend) {
      REQUIRE(plain_.append(name, call.count.value()));
      CHECK(plain_.copies().size() == answer.copies.size());
      counts["copies"] += std::ssize(answer.copies);
    }
  }

  RandomStream stream_;
  CacheWalk walk_;
  PlainManager plain_{kNumBlocks, kBlockSize};
  std::map<std::int32_t, std::int32_t> names_;  // plain sequences by real index
};

TEST_CASE("the plain manager and the real one give the same answers") {
  std::map<std::string, std::int64_t> counts;
  Coverage coverage;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    Pair pair(seed, coverage);
    for (int i = 0; i < 300; ++i) {
      pair.step();
      pair.compare();
    }
    for (const auto& [what, count] : pair.counts) counts[what] += count;
  }
  for (const char* what : {"refused", "hit tokens", "copies"}) {
    INFO(what);
    CHECK(counts[what] > 100);
  }
}

TEST_CASE("with a window the plain manager frees the blocks that the real one frees") {
  constexpr std::int64_t kWindow = 3;
  CacheOptions windowed = options();
  windowed.groups = {{.num_layers = 1, .window = TokenCount(kWindow)}};
  BlockManager real = BlockManager::create(windowed).value();
  PlainManager plain(kNumBlocks, kBlockSize, kWindow);
  const std::vector<TokenId> ids = {7};
  const SequenceHandle handle =
      real.admit({.tokens = {.ids = ids, .items = {}}, .keys = {}}).value().sequence;
  const std::int32_t sequence = *plain.admit(ids);
  for (std::int64_t length = 1; length <= kMaxTokens; ++length) {
    INFO("length " << length);
    real.append(handle, TokenCount(1)).value();
    REQUIRE(plain.append(sequence, 1));
    CHECK(plain.available() == real.available_blocks().value());
    const auto mine = real.block_table(handle, 0).value();
    const std::vector<std::int32_t>& theirs = plain.table(sequence);
    REQUIRE(mine.size() == theirs.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      CHECK((mine[i] == kNoBlock) == (theirs[i] < 0));
    }
  }
  CHECK(plain.available() < kNumBlocks);
  plain.release(sequence);
  CHECK(plain.available() == kNumBlocks);
}

}  // namespace
}  // namespace recto::cache::testing
