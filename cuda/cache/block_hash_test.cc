#include "cuda/cache/block_hash.h"

#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::cache {
namespace {

using Ids = std::vector<TokenId>;
using Words = std::vector<std::uint64_t>;

TEST_CASE("every token, every word and the parent change the hash") {
  for (const HashWidth width : {HashWidth::k64, HashWidth::k128}) {
    const BlockHasher hasher{.width = width};
    const Ids ids(64, 7);
    const Words words = {1, 2, 3};
    std::set<std::pair<std::uint64_t, std::uint64_t>> hashes;
    std::size_t made = 0;
    const auto add = [&](const BlockHash& hash) {
      hashes.insert({hash.high, hash.low});
      ++made;
    };
    add(hasher(root_hash(), ids, words));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Ids changed = ids;
      changed[i] = 8;
      add(hasher(root_hash(), changed, words));
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      Words changed = words;
      changed[i] = 8;
      add(hasher(root_hash(), ids, changed));
    }
    add(hasher({.low = root_hash().low ^ 1, .high = 0}, ids, words));
    add(hasher({.low = root_hash().low, .high = 1}, ids, words));
    add(hasher(root_hash(), ids, Words{1, 2}));
    add(hasher(root_hash(), ids, {}));
    add(hasher(root_hash(), Ids(63, 7), words));
    CHECK(hashes.size() == made);
  }
}

TEST_CASE("hashes have the same golden values on every machine") {
  const Ids ids = {1, 2, 3, 4};
  const Words words = {5, 6};
  const auto text = [&](HashWidth width) {
    std::ostringstream out;
    out << BlockHasher{.width = width}(root_hash(), ids, words);
    return out.str();
  };
  CHECK(text(HashWidth::k64) == "0000000000000000d1489a110728bae5");
  CHECK(text(HashWidth::k128) == "d1f7160b68333b38802cc6222deb7cb8");
}

TEST_CASE("a hash of 64 bits has no high word, and a mask makes collisions") {
  const Ids ids = {1, 2, 3, 4};
  CHECK(BlockHasher{.width = HashWidth::k64}(root_hash(), ids, {}).high == 0);
  CHECK(BlockHasher{.width = HashWidth::k128}(root_hash(), ids, {}).high != 0);
  CHECK(BlockHasher{.width = HashWidth::k128, .mask = 0}(root_hash(), ids, {}) == BlockHash{});
  const BlockHash masked = BlockHasher{.width = HashWidth::k64, .mask = 3}(root_hash(), ids, {});
  CHECK(masked.low < 4);
}

TEST_CASE("prefixes of zeros of different lengths have different hashes") {
  const BlockHasher hasher;
  const Ids zeros(4);
  const BlockHash first = hasher(root_hash(), zeros, {});
  const BlockHash second = hasher(first, zeros, {});
  CHECK(first != root_hash());
  CHECK(second != first);
  CHECK(hasher(second, zeros, {}) != second);
}

}  // namespace
}  // namespace recto::cache
