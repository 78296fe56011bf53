#include "cuda/cache/node_table.h"

#include <algorithm>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::cache {
namespace {

// A table and the expected content of it.
class Nodes {
 public:
  explicit Nodes(std::int32_t max_nodes)
      : table_(NodeTable::create(max_nodes).value()),
        records_(static_cast<std::size_t>(max_nodes)) {}

  void insert(std::uint64_t hash, std::int32_t id) {
    records_[static_cast<std::size_t>(id)].set_hash(hash);
    table_.insert({.low = hash, .high = 0}, NodeId(id));
  }
  void erase(std::int32_t id) {
    const std::uint64_t hash = records_[static_cast<std::size_t>(id)].hash();
    table_.erase({.low = hash, .high = 0}, NodeId(id), records_);
  }
  NodeTable& table() { return table_; }

 private:
  NodeTable table_;
  std::vector<NodeRecord> records_;
};

std::vector<std::int32_t> candidates(const NodeTable& table, const BlockHash& hash) {
  std::vector<std::int32_t> nodes;
  table.visit_candidates(hash, [&](NodeId node) {
    nodes.push_back(node.value());
    return false;
  });
  std::ranges::sort(nodes);
  return nodes;
}

TEST_CASE("all nodes of a hash are found until they are erased") {
  Nodes nodes(3);
  const BlockHash hash{.low = 5, .high = 0};
  nodes.insert(5, 0);
  nodes.insert(5, 1);
  nodes.insert(6, 2);
  CHECK(candidates(nodes.table(), hash) == std::vector<std::int32_t>{0, 1});
  nodes.erase(0);
  CHECK(candidates(nodes.table(), hash) == std::vector<std::int32_t>{1});
  CHECK(nodes.table().num_entries() == 2);
  nodes.table().clear();
  CHECK(candidates(nodes.table(), hash).empty());
}

TEST_CASE("a visit ends when its callback returns true") {
  NodeTable table = NodeTable::create(3).value();
  for (std::int32_t id = 0; id < 3; ++id) table.insert({}, NodeId(id));
  int visits = 0;
  table.visit_candidates({}, [&](NodeId) { return ++visits == 2; });
  CHECK(visits == 2);
}

TEST_CASE("a table of capacity 0 finds no node, and an insert breaks the contract") {
  NodeTable table = NodeTable::create(0).value();
  CHECK(candidates(table, {}).empty());
  CHECK_THROWS_AS(table.insert({}, NodeId(0)), ContractFailure);
}

TEST_CASE("a table is at most 68 percent full, and erasing a missing node is a broken contract") {
  Nodes nodes(12);
  CHECK(nodes.table().capacity() == 18);
  CHECK(nodes.table().bytes() == 18 * 4);
  for (std::int32_t id = 0; id < 12; ++id) nodes.insert(0, id);
  NodeTable table = NodeTable::create(3).value();
  for (std::int32_t id = 0; id < 4; ++id) table.insert({}, NodeId(id % 3));
  CHECK_THROWS_AS(table.insert({}, NodeId(0)), ContractFailure);
  CHECK_THROWS_AS(nodes.table().erase({.low = 1, .high = 0}, NodeId(12), {}), ContractFailure);
}

// Few hash values: clusters merge, wrap around, and break up. In the larger table, with only three
// hashes, walks are longer than the distances that an entry can store.
TEST_CASE("after any inserts and erasures every remaining node is found") {
  struct Table {
    std::int32_t nodes = 0;
    std::uint64_t hashes = 0;
  };
  for (const Table& size : {Table{.nodes = 16, .hashes = 6}, Table{.nodes = 150, .hashes = 3}}) {
    RandomStream stream = RandomStream(1).split("node table");
    Nodes nodes(size.nodes);
    std::vector<std::vector<std::int32_t>> expected(size.hashes);
    std::vector<std::uint64_t> hash_of(static_cast<std::size_t>(size.nodes), size.hashes);
    for (int step = 0; step < 20'000; ++step) {
      const auto id = stream.next_below(static_cast<std::uint64_t>(size.nodes));
      std::uint64_t& hash = hash_of[id];
      const auto node = static_cast<std::int32_t>(id);
      if (hash < size.hashes) {
        nodes.erase(node);
        std::erase(expected[hash], node);
        hash = size.hashes;
      } else {
        hash = stream.next_below(size.hashes);
        nodes.insert(hash, node);
        expected[hash].insert(std::ranges::upper_bound(expected[hash], node), node);
      }
      for (std::uint64_t other = 0; other < size.hashes; ++other) {
        std::vector<std::int32_t> found = candidates(nodes.table(), {.low = other, .high = 0});
        // Other nodes may have the same home slot and the same hash bits.
        std::erase_if(found, [&](std::int32_t candidate) {
          return hash_of[static_cast<std::size_t>(candidate)] != other;
        });
        REQUIRE(found == expected[other]);
      }
    }
  }
}

}  // namespace
}  // namespace recto::cache
