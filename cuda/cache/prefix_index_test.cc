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
                              .max_words = 3,
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

TEST_CASE("what was inserted is found, behind the same parent, with the same words") {
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
  CHECK(index.content(second).tokens[1] == 4);
  CHECK(index.content(second).extra_words[0] == 7);
}

TEST_CASE("where all hashes are equal only what is equal is found") {
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
  index.attach(second, 1, BlockId(5));
  index.remove_user(first);
  index.remove_user(second);
  CHECK(index.num_nodes() == 2);  // the block keeps the second, the second keeps the first
  CHECK(index.block(second, 1) == BlockId(5));
  CHECK(index.block(second, 0) == kNoBlock);
  index.detach(second, 1);
  CHECK(index.num_nodes() == 0);
  CHECK(find(index, kRoot, {1, 2}).node == std::nullopt);
  CHECK(index.table().num_entries() == 0);
}

TEST_CASE("a full index takes nothing, and goes on after something is forgotten") {
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

TEST_CASE("a clear forgets what is used, too") {
  PrefixIndex index = index_of(2);
  const NodeId first = *insert(index, kRoot, {1, 2});
  insert(index, first, {3, 4});
  index.clear();
  CHECK(index.num_nodes() == 0);
  CHECK(find(index, kRoot, {1, 2}).node == std::nullopt);
  CHECK(insert(index, kRoot, {1, 2}).has_value());
  CHECK(insert(index, kRoot, {3, 4}).has_value());
}

TEST_CASE("contents have a number for each node and group") {
  const PrefixIndex index = index_of(8);
  const ContentId content = index.content_id(NodeId(3), 1);
  CHECK(index.node_of(content) == NodeId(3));
  CHECK(index.group_of(content) == 1);
  CHECK(index.content_id(NodeId(3), 0) != content);
}

TEST_CASE("a node is 52 bytes, and what it stands for beside") {
  const auto bytes = [](const PrefixIndexOptions& options) {
    return PrefixIndex::create(options).value().bytes_per_node();
  };
  CHECK(bytes({.max_nodes = 1024, .block_size = 16}) == 52 + 16 * 4);
  CHECK(bytes({.max_nodes = 1024, .block_size = 16, .max_words = 8}) == 52 + 16 * 4 + 8 * 8);
  CHECK(bytes({.max_nodes = 1024, .num_groups = 3, .block_size = 1}) == 52 + 2 * 4 + 4);
}

TEST_CASE("misuse of an index is a broken contract") {
  PrefixIndex index = index_of(2);
  const NodeId node = *insert(index, kRoot, {1, 2});
  CHECK_THROWS_AS(index.detach(node, 0), ContractFailure);
  index.attach(node, 0, BlockId(1));
  CHECK_THROWS_AS(index.attach(node, 0, BlockId(2)), ContractFailure);
  CHECK_THROWS_AS(insert(index, kRoot, {1, 2, 3}), ContractFailure);
  CHECK_THROWS_AS(insert(index, kRoot, {1, 2}, {1, 2, 3, 4}), ContractFailure);
}

TEST_CASE("sizes that can't be are refused by name") {
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
  CHECK(refusal({.max_nodes = 1, .max_words = 98}) == Status::ok());
  CHECK(refusal({.max_nodes = 1, .max_words = 99}).code() == StatusCode::kInvalidInput);
}

// Lookups among hashes of few values, so that walks through the table are long and wrap around,
// against a map of all that is known.
TEST_CASE("any history finds what a map finds") {
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
