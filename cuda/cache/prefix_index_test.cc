#include "cuda/cache/prefix_index.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::cache {
namespace {

using Ids = std::vector<TokenId>;
using Words = std::vector<std::uint64_t>;

PrefixIndex index_of(std::int32_t nodes, std::uint64_t mask = ~std::uint64_t{0}) {
  return PrefixIndex::create({.max_nodes = nodes,
                              .num_groups = 2,
                              .block_size = 2,
                              .max_pins = 4,
                              .hasher = {.width = HashWidth::k64, .mask = mask}})
      .value();
}

std::optional<NodeId> insert(PrefixIndex& index, NodeId parent, const Ids& ids,
                             const Words& words = {}) {
  const BlockContent content{.tokens = ids, .extra_words = words};
  return index.insert(index.key(parent, content), content);
}
PrefixIndex::Found find(const PrefixIndex& index, NodeId parent, const Ids& ids,
                        const Words& words = {}) {
  const BlockContent content{.tokens = ids, .extra_words = words};
  return index.find(index.key(parent, content), content);
}

TEST_CASE("an inserted node is found behind its parent, by its tokens and extra words") {
  PrefixIndex index = index_of(8);
  const NodeId first = *insert(index, kRoot, {1, 2});
  const NodeId second = *insert(index, first, {3, 4}, {7});
  CHECK(find(index, kRoot, {1, 2}).node == first);
  CHECK(find(index, first, {3, 4}, {7}).node == second);
  CHECK(find(index, kRoot, {3, 4}, {7}).node == std::nullopt);
  CHECK(find(index, first, {3, 4}).node == std::nullopt);
  CHECK(find(index, first, {3, 4}, {8}).node == std::nullopt);
  CHECK(find(index, first, {3, 5}, {7}).node == std::nullopt);
  CHECK(index.parent(second) == first);
  CHECK(index.hash(kRoot) == root_hash());
  ExtraWords words;
  CHECK(index.content(second, words).tokens[1] == 4);
  CHECK(index.content(second, words).extra_words[0] == 7);
  CHECK(index.content(first, words).extra_words.empty());
}

TEST_CASE("if all hashes collide, only equal content is found, and collisions are counted") {
  PrefixIndex index = index_of(8, 0);
  const NodeId first = *insert(index, kRoot, {1, 2});
  const NodeId second = *insert(index, first, {1, 2});
  const NodeId third = *insert(index, kRoot, {1, 2}, {9});
  CHECK(find(index, kRoot, {1, 2}).node == first);
  CHECK(find(index, first, {1, 2}).node == second);
  CHECK(find(index, kRoot, {1, 2}, {9}).node == third);
  const PrefixIndex::Found none = find(index, second, {1, 2});
  CHECK(none.node == std::nullopt);
  CHECK(none.collisions == 3);
  CHECK(find(index_of(8), kRoot, {1, 2}).collisions == 0);
}

TEST_CASE("a node lives as long as it is used, and its ancestors with it") {
  PrefixIndex index = index_of(8);
  const NodeId first = *insert(index, kRoot, {1, 2});
  const NodeId second = *insert(index, first, {3, 4});
  index.add_user(second);  // the user is a block
  index.remove_user(first);
  index.remove_user(second);
  CHECK(index.num_nodes() == 2);  // the block keeps the second node, which keeps the first
  index.remove_user(second);
  CHECK(index.num_nodes() == 0);
  CHECK(find(index, kRoot, {1, 2}).node == std::nullopt);
  CHECK(index.table().num_entries() == 0);
}

TEST_CASE("a full index refuses inserts until a node is removed") {
  PrefixIndex index = index_of(2);
  const NodeId first = *insert(index, kRoot, {1, 2});
  insert(index, kRoot, {3, 4});
  CHECK(insert(index, kRoot, {5, 6}) == std::nullopt);
  CHECK(index.users(first) == 1);
  CHECK(insert(index, first, {5, 6}) == std::nullopt);
  CHECK(index.users(first) == 1);
  index.remove_user(first);
  CHECK(insert(index, kRoot, {5, 6}).has_value());
}

TEST_CASE("a clear removes nodes in use as well") {
  PrefixIndex index = index_of(2);
  const NodeId first = *insert(index, kRoot, {1, 2});
  insert(index, first, {3, 4});
  index.clear();
  CHECK(index.num_nodes() == 0);
  CHECK(find(index, kRoot, {1, 2}).node == std::nullopt);
  CHECK(insert(index, kRoot, {1, 2}).has_value());
  CHECK(insert(index, kRoot, {3, 4}).has_value());
}

TEST_CASE("each node has a content id in each group") {
  const PrefixIndex index = index_of(8);
  const ContentId content = index.content_id(NodeId(3), 1);
  CHECK(index.node_of(content) == NodeId(3));
  CHECK(index.group_of(content) == 1);
  CHECK(index.content_id(NodeId(3), 0) != content);
}

TEST_CASE("extra words are read back unchanged, and take as many places as they fill") {
  for (const std::int32_t block_size : {1, 2, 3, 16}) {
    PrefixIndex index =
        PrefixIndex::create({.max_nodes = 40, .block_size = block_size, .hasher = {}}).value();
    const Ids ids(static_cast<std::size_t>(block_size), 1);
    const Words words = {0xffff'ffff'0000'0001U, 2, 0x8000'0000'8000'0000U};
    const NodeId parent = *insert(index, kRoot, ids);
    const NodeId node = *insert(index, parent, ids, words);
    CHECK(index.num_nodes() == 2);
    CHECK(index.num_places() == 3 + (6 - 1) / block_size);
    ExtraWords read;
    const BlockContent content = index.content(node, read);
    CHECK(std::ranges::equal(content.extra_words, words));
    CHECK(std::ranges::equal(content.tokens, ids));
    CHECK(index.parent(node) == parent);
    CHECK_FALSE(index.is_live(NodeId(node.value() + 1)));  // a place of extra words
    CHECK(find(index, parent, ids, words).node == node);
    CHECK(find(index, parent, ids, {words[0], words[1]}).node == std::nullopt);
    CHECK(find(index, kRoot, ids, words).node == std::nullopt);
    index.remove_user(parent);
    index.remove_user(node);
    CHECK(index.num_places() == 0);
  }
}

TEST_CASE("longer or shorter words, and those of another parent, differ though hashes are equal") {
  PrefixIndex index = index_of(20, 0);  // all hashes are equal
  const NodeId first = *insert(index, kRoot, {1, 2}, {1, 2});
  const NodeId longer = *insert(index, kRoot, {1, 2}, {1, 2, 0});
  const NodeId behind = *insert(index, first, {1, 2}, {1, 2});
  const NodeId none = *insert(index, kRoot, {1, 2});
  CHECK(find(index, kRoot, {1, 2}, {1, 2}).node == first);
  CHECK(find(index, kRoot, {1, 2}, {1, 2, 0}).node == longer);
  CHECK(find(index, first, {1, 2}, {1, 2}).node == behind);
  CHECK(find(index, kRoot, {1, 2}).node == none);
  CHECK(find(index, kRoot, {1, 2}, {1}).node == std::nullopt);
}

TEST_CASE("extra words take the places of nodes, and are refused if places are too few") {
  PrefixIndex index = index_of(4);  // each place holds two tokens or one word
  const NodeId keyed = *insert(index, kRoot, {1, 2}, {5, 6});
  CHECK(index.num_places() == 3);
  CHECK(insert(index, kRoot, {3, 4}, {5}) == std::nullopt);
  CHECK(index.num_places() == 3);
  const NodeId plain = *insert(index, kRoot, {3, 4});
  CHECK(insert(index, kRoot, {5, 6}) == std::nullopt);
  index.remove_user(keyed);
  CHECK(index.num_places() == 1);
  CHECK(insert(index, plain, {5, 6}, {7, 8}).has_value());
}

TEST_CASE("a pin climbs to the first pinned ancestor, and its removal climbs as far") {
  PrefixIndex index = index_of(8);
  const NodeId trunk = *insert(index, kRoot, {1, 2});
  const NodeId left = *insert(index, trunk, {3, 4});
  const NodeId right = *insert(index, trunk, {5, 6});
  CHECK(index.add_pin(left));
  CHECK(index.add_pin(trunk));
  CHECK(index.add_pin(right));
  CHECK_FALSE(index.add_pin(trunk));  // already pinned through its second child
  CHECK_FALSE(index.add_pin(left));   // a second pin ends there
  CHECK(index.pins(trunk) == 2);
  CHECK_FALSE(index.remove_pin(left));
  CHECK(index.remove_pin(left));
  CHECK_FALSE(index.remove_pin(trunk));
  CHECK(index.is_pinned(trunk));
  CHECK(index.remove_pin(right));
  CHECK(index.remove_pin(trunk));
  CHECK_FALSE(index.is_pinned(trunk));
}

TEST_CASE("hashes of 128 bits are compared whole") {
  PrefixIndex index =
      PrefixIndex::create({.max_nodes = 4, .block_size = 2, .hasher = {.width = HashWidth::k128}})
          .value();
  const NodeId node = *insert(index, kRoot, {1, 2});
  const Ids ids = {1, 2};
  const BlockContent content{.tokens = ids, .extra_words = {}};
  PrefixIndex::Key key = index.key(kRoot, content);
  CHECK(index.hash(node) == key.hash);
  CHECK(key.hash.high != 0);
  CHECK(index.find(key, content).node == node);
  ++key.hash.high;
  CHECK(index.find(key, content).node == std::nullopt);
}

// Bytes: 12 for the record, 2 for the users, 5.92 for the table. Tokens are extra, as are 8 for the
// wider hash, and at most 4 KiB for nodes with very many users.
TEST_CASE("a node takes 20 bytes besides its tokens") {
  constexpr std::int64_t kNodes = 30'000;
  const auto index = [](HashWidth width) {
    return PrefixIndex::create({.max_nodes = kNodes, .block_size = 16, .hasher = {.width = width}})
        .value();
  };
  const std::int64_t bytes = index(HashWidth::k64).bytes();
  CHECK(100 * bytes >= 1992 * kNodes);
  CHECK(100 * (bytes - 4096) <= 1992 * kNodes);
  CHECK(index(HashWidth::k64).token_bytes() == 16 * 4 * kNodes);
  CHECK(index(HashWidth::k128).bytes() == bytes + 8 * kNodes);
}

TEST_CASE("misuse of an index is a broken contract") {
  PrefixIndex index = index_of(2);
  const NodeId node = *insert(index, kRoot, {1, 2});
  CHECK_THROWS_AS(insert(index, kRoot, {1, 2, 3}), ContractFailure);
  CHECK_THROWS_AS(insert(index, kRoot, {1, 2}, Words(kMaxExtraWords + 1)), ContractFailure);
  index.remove_user(node);
  CHECK_THROWS_AS(index.remove_user(node), ContractFailure);
}

TEST_CASE("index sizes out of range are refused by name") {
  const auto refusal = [](const PrefixIndexOptions& options) {
    return PrefixIndex::create(options).status();
  };
  CHECK(refusal({.max_nodes = 0}) == Status::ok());
  CHECK(refusal({.max_nodes = -1}) ==
        Status::invalid_input("prefix index: max_nodes = -1; expected 0 to 2147483647"));
  CHECK(refusal({.max_nodes = 1 << 30, .num_groups = 2}) ==
        Status::invalid_input("prefix index: max_nodes = 1073741824; expected 0 to 1073741823"));
  CHECK(refusal({.max_nodes = 1, .num_groups = 0}).code() == StatusCode::kInvalidInput);
  CHECK(refusal({.max_nodes = 1, .block_size = 0}).code() == StatusCode::kInvalidInput);
  CHECK(refusal({.max_nodes = 1, .max_pins = 5}) == Status::ok());
  CHECK(refusal({.max_nodes = 1, .max_pins = -1}).code() == StatusCode::kInvalidInput);
}

// Lookups among few hash values, so that walks through the table are long and wrap around, compared
// with a map of all content.
TEST_CASE("after any history the index finds the nodes that a map finds") {
  for (const std::uint64_t mask : {~std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{0}}) {
    RandomStream stream = RandomStream(mask).split("prefix index");
    PrefixIndex index = index_of(12, mask);
    std::map<std::pair<std::int32_t, Ids>, NodeId> known;
    std::int64_t inserted = 0;
    for (int step = 0; step < 5000; ++step) {
      NodeId parent = kRoot;
      if (!known.empty() && stream.next_below(2) == 0) {
        parent =
            std::next(known.begin(), static_cast<std::ptrdiff_t>(stream.next_below(known.size())))
                ->second;
      }
      const Ids ids = {static_cast<TokenId>(stream.next_below(3)),
                       static_cast<TokenId>(stream.next_below(2))};
      const auto place = known.find({parent.value(), ids});
      REQUIRE(find(index, parent, ids).node ==
              (place == known.end() ? std::nullopt : std::optional(place->second)));
      if (place == known.end()) {
        const std::optional<NodeId> node = insert(index, parent, ids);
        REQUIRE(node.has_value() == (known.size() < 12));
        if (node) known[{parent.value(), ids}] = *node;
        inserted += node ? 1 : 0;
      } else if (index.users(place->second) == 1) {
        index.remove_user(place->second);
        known.erase(place);
      }
      REQUIRE(index.num_nodes() == std::ssize(known));
    }
    CHECK(inserted > 200);
  }
}

}  // namespace
}  // namespace recto::cache
