#include "cuda/cache/prefix_index.h"

#include <algorithm>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::cache {
namespace {

constexpr std::int32_t kMuch = 40'000;  // too large for a node's word

TEST_CASE("users are counted, however many they are") {
  NodeUses uses = NodeUses::create(2, 2 * kMuch, 0).value();
  const NodeId popular(1);
  uses.open(NodeId(0));
  uses.open(popular);
  for (std::int32_t users = 2; users <= kMuch; ++users) {
    uses.add_user(popular);
    REQUIRE(uses.users(popular) == users);
  }
  CHECK(uses.users(NodeId(0)) == 1);
  for (std::int32_t users = kMuch - 1; users >= 0; --users) {
    REQUIRE(uses.remove_user(popular) == users);
    REQUIRE(uses.users(popular) == users);
  }
  CHECK_THROWS_AS(uses.remove_user(popular), ContractFailure);
}

TEST_CASE("the maximum number of users fits, however they are spread over nodes") {
  NodeUses uses = NodeUses::create(3, 2 * kMuch, 0).value();
  for (std::int32_t id = 0; id < 2; ++id) {
    for (std::int32_t i = 0; i < kMuch; ++i) uses.add_user(NodeId(id));
  }
  CHECK(uses.users(NodeId(0)) == kMuch);
  CHECK(uses.users(NodeId(1)) == kMuch);
  for (std::int32_t i = 0; i < kMuch; ++i) uses.remove_user(NodeId(0));
  for (std::int32_t i = 0; i < kMuch; ++i) uses.add_user(NodeId(2));
  CHECK(uses.users(NodeId(0)) == 0);
  CHECK(uses.users(NodeId(1)) == kMuch);
  CHECK(uses.users(NodeId(2)) == kMuch);
}

TEST_CASE("pins are counted beside the users") {
  NodeUses uses = NodeUses::create(2, 10, 3).value();
  const NodeId node(0);
  uses.open(node);
  uses.add_pin(node);
  CHECK(uses.is_pinned(node));
  CHECK(uses.pins(node) == 1);
  uses.add_pin(node);
  uses.add_pin(node);
  CHECK(uses.pins(node) == 3);
  uses.add_user(node);
  CHECK(uses.users(node) == 2);
  uses.remove_pin(node);
  uses.remove_pin(node);
  CHECK(uses.pins(node) == 1);
  uses.remove_pin(node);
  CHECK_FALSE(uses.is_pinned(node));
  CHECK(uses.users(node) == 2);
  CHECK_THROWS_AS(uses.remove_pin(node), ContractFailure);
}

TEST_CASE("a node takes 2 bytes, and one with very many users or pins 8 more") {
  CHECK(NodeUses::create(1000, 0, 0).value().bytes() == 2000);
  CHECK(NodeUses::create(1000, 0, 5).value().bytes() == 2000 + 5 * 8);
  CHECK(NodeUses::create(1000, 16383 * 3, 0).value().bytes() == 2000 + 3 * 8);
}

TEST_CASE("after any history counts equal those of plain counters") {
  RandomStream stream = RandomStream(1).split("node uses");
  constexpr std::int32_t kNodes = 3;
  NodeUses uses = NodeUses::create(kNodes, 200'000, 100).value();
  std::vector<std::int32_t> users(kNodes);
  std::vector<std::int32_t> pins(kNodes);
  std::int32_t most = 0;
  for (int step = 0; step < 400'000; ++step) {
    const auto id = stream.next_below(kNodes);
    const NodeId node(static_cast<std::int32_t>(id));
    // Increases for a while, then decreases, so that counts pass the limit several times.
    const bool is_up = (step / 100'000) % 2 == 0;
    if (stream.next_below(20) > 0) {
      if (is_up == (stream.next_below(10) > 0) && users[id] < 40'000) {
        uses.add_user(node);
        ++users[id];
      } else if (users[id] > 0) {
        REQUIRE(uses.remove_user(node) == --users[id]);
      }
    } else if (is_up && pins[id] < 20) {
      uses.add_pin(node);
      ++pins[id];
    } else if (pins[id] > 0) {
      uses.remove_pin(node);
      --pins[id];
    }
    REQUIRE(uses.users(node) == users[id]);
    REQUIRE(uses.pins(node) == pins[id]);
    REQUIRE(uses.is_pinned(node) == (pins[id] > 0));
    most = std::max(most, users[id]);
  }
  CHECK(most > 16'383);
  uses.clear();
  CHECK(uses.users(NodeId(0)) == 0);
  CHECK(uses.pins(NodeId(0)) == 0);
}

}  // namespace
}  // namespace recto::cache
