#include "cuda/cache/node_table.h"

#include <algorithm>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::cache {
namespace {

std::vector<std::int32_t> candidates(const NodeTable& table, const BlockHash& hash) {
  std::vector<std::int32_t> nodes;
  table.visit_candidates(hash, [&](NodeId node) {
    nodes.push_back(node.value());
    return false;
  });
  std::ranges::sort(nodes);
  return nodes;
}

TEST_CASE("nodes are found by their hash, all that have it, until they are erased") {
  NodeTable table = NodeTable::create(3).value();
  const BlockHash hash{.low = 5, .high = 0};
  table.insert(hash, NodeId(0));
  table.insert(hash, NodeId(1));
  table.insert({.low = 6, .high = 0}, NodeId(2));
  CHECK(candidates(table, hash) == std::vector<std::int32_t>{0, 1});
  table.erase(hash, NodeId(0));
  CHECK(candidates(table, hash) == std::vector<std::int32_t>{1});
  CHECK(table.num_entries() == 2);
  table.clear();
  CHECK(candidates(table, hash).empty());
}

TEST_CASE("a visit ends when it is told to") {
  NodeTable table = NodeTable::create(3).value();
  for (std::int32_t id = 0; id < 3; ++id) table.insert({}, NodeId(id));
  int visits = 0;
  table.visit_candidates({}, [&](NodeId) { return ++visits == 2; });
  CHECK(visits == 2);
}

TEST_CASE("a table without room has nothing, and takes nothing") {
  NodeTable table = NodeTable::create(0).value();
  CHECK(candidates(table, {}).empty());
  CHECK_THROWS_AS(table.insert({}, NodeId(0)), ContractFailure);
}

TEST_CASE("it is at most half full, and erasing what is not there is a broken contract") {
  NodeTable table = NodeTable::create(5).value();
  CHECK(table.capacity() == 16);
  for (std::int32_t id = 0; id < 8; ++id) table.insert({}, NodeId(id));
  CHECK_THROWS_AS(table.insert({}, NodeId(8)), ContractFailure);
  CHECK_THROWS_AS(table.erase({}, NodeId(8)), ContractFailure);
}

// Hashes of few values in a small table: clusters grow together, wrap around, and are torn apart.
TEST_CASE("whatever is inserted and erased, the rest is found") {
  RandomStream stream = RandomStream(1).split("node table");
  NodeTable table = NodeTable::create(16).value();
  std::vector<BlockHash> hashes(16);
  std::vector<bool> is_there(16);
  for (int step = 0; step < 20'000; ++step) {
    const auto id = static_cast<std::size_t>(stream.next_below(16));
    const NodeId node(static_cast<std::int32_t>(id));
    if (is_there[id]) {
      table.erase(hashes[id], node);
    } else {
      hashes[id] = {.low = stream.next_below(6), .high = 0};
      table.insert(hashes[id], node);
    }
    is_there[id] = !is_there[id];
    for (std::size_t other = 0; other < 16; ++other) {
      const std::vector<std::int32_t> found = candidates(table, hashes[other]);
      const bool is_found =
          std::ranges::find(found, static_cast<std::int32_t>(other)) != found.end();
      REQUIRE(is_found == is_there[other]);
    }
  }
}

}  // namespace
}  // namespace recto::cache
