#include "cuda/cache/testing/plain_manager.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "cuda/cache/block_manager.h"

namespace recto::cache::testing {
namespace {

constexpr std::int64_t kBlockSize = 2;
constexpr std::int64_t kNumBlocks = 24;
constexpr std::int64_t kMostTokens = 20;

CacheOptions options() {
  CacheOptions options;
  options.num_blocks = BlockCount(kNumBlocks);
  options.block_size = TokenCount(kBlockSize);
  options.max_sequences = 8;
  options.max_blocks_per_sequence = BlockCount(kMostTokens / kBlockSize);
  // Never full: the plain one has no such limit.
  options.prefix.max_nodes = 1000;
  return options;
}

// The two managers side by side, asked the same.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : stream_(RandomStream(seed).split("plain manager")) {}

  void step() {
    switch (below(6)) {
      case 0:
        return admit();
      case 1:
        return append();
      case 2:
        return commit();
      case 3:
        return fork();
      case 4:
        return truncate();
      default:
        return release();
    }
  }
  // Do both hold the same lengths, and share the same blocks?
  void compare() {
    CHECK(plain_.available() == real_.available_blocks().value());
    std::map<std::int32_t, std::int32_t> renamed;
    for (const Live& live : live_) {
      const SequenceView view = real_.view(live.real).value();
      CHECK(plain_.context_length(live.plain) == view.context_length.value());
      const auto mine = real_.block_table(live.real, 0).value();
      const std::vector<std::int32_t>& theirs = plain_.table(live.plain);
      REQUIRE(mine.size() == theirs.size());
      for (std::size_t i = 0; i < mine.size(); ++i) {
        CHECK(renamed.try_emplace(theirs[i], mine[i].value()).first->second == mine[i].value());
      }
    }
  }
  std::map<std::string, std::int64_t> counts;

 private:
  struct Live {
    SequenceHandle real;
    std::int32_t plain;
    std::vector<TokenId> ids;  // as many as a table has room for
  };

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(stream_.next_below(static_cast<std::uint64_t>(bound)));
  }
  Live* draw() {
    return live_.empty() ? nullptr : &live_[static_cast<std::size_t>(below(std::ssize(live_)))];
  }

  void admit() {
    if (live_.size() == 8) return;
    std::vector<TokenId> ids;
    for (std::int64_t i = 0; i < kMostTokens; ++i)
      ids.push_back(static_cast<TokenId>(below(5) / 4));
    const std::span prompt(ids.data(), static_cast<std::size_t>(1 + below(kMostTokens)));
    const auto real = real_.admit({.tokens = {.ids = prompt, .items = {}}, .keys = {}});
    const std::optional<std::int32_t> plain = plain_.admit(prompt);
    REQUIRE(real.is_ok() == plain.has_value());
    if (!plain) {
      ++counts["refused"];
      return;
    }
    counts["hit tokens"] += real.value().hit.value();
    CHECK(plain_.context_length(*plain) == real.value().hit.value());
    live_.push_back({.real = real.value().sequence, .plain = *plain, .ids = ids});
  }

  void append() {
    const Live* live = draw();
    if (live == nullptr) return;
    const std::int64_t left = kMostTokens - plain_.context_length(live->plain);
    const std::int64_t count = std::min(left, below(4));
    // What does not fit as a whole is left out: the plain one would do half of it.
    if (plain_.available() < count) return;
    const auto copies = real_.append(live->real, TokenCount(count)).value();
    REQUIRE(plain_.append(live->plain, count));
    CHECK(plain_.copies().size() == copies.size());
    counts["copies"] += std::ssize(copies);
  }

  void commit() {
    const Live* live = draw();
    if (live == nullptr) return;
    CHECK(real_.commit(live->real, {.ids = live->ids, .items = {}}) == Status::ok());
    plain_.commit(live->plain, live->ids);
  }

  void fork() {
    if (live_.empty() || live_.size() == 8) return;
    Live child = *draw();
    // Lookahead stays with the parent; the plain one does not know which that is.
    truncate(child, plain_.context_length(child.plain));
    child.real = real_.fork(child.real).value();
    child.plain = plain_.fork(child.plain);
    live_.push_back(child);
  }

  void truncate() {
    if (Live* live = draw()) truncate(*live, below(plain_.context_length(live->plain) + 1));
  }
  // What is written after it is what was there before, so that no block changes its content.
  void truncate(const Live& live, std::int64_t length) {
    CHECK(real_.truncate(live.real, TokenCount(length)) == Status::ok());
    plain_.truncate(live.plain, length);
  }

  void release() {
    if (live_.empty()) return;
    const auto index = below(std::ssize(live_));
    const Live& live = live_[static_cast<std::size_t>(index)];
    CHECK(real_.release(live.real) == Status::ok());
    plain_.release(live.plain);
    live_.erase(live_.begin() + index);
  }

  RandomStream stream_;
  BlockManager real_ = BlockManager::create(options()).value();
  PlainManager plain_{kNumBlocks, kBlockSize};
  std::vector<Live> live_;
};

TEST_CASE("the plain manager and the real one give the same answers") {
  std::map<std::string, std::int64_t> counts;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    Pair pair(seed);
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

TEST_CASE("with a window the plain manager gives back what the real one gives back") {
  constexpr std::int64_t kWindow = 3;
  CacheOptions windowed = options();
  windowed.groups = {{.num_layers = 1, .window = TokenCount(kWindow)}};
  BlockManager real = BlockManager::create(windowed).value();
  PlainManager plain(kNumBlocks, kBlockSize, kWindow);
  const std::vector<TokenId> ids = {7};
  const SequenceHandle handle =
      real.admit({.tokens = {.ids = ids, .items = {}}, .keys = {}}).value().sequence;
  const std::int32_t sequence = *plain.admit(ids);
  for (std::int64_t length = 1; length <= kMostTokens; ++length) {
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
