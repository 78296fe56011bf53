#include "sim/scheduling/host_pool.h"

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

PoolStates used(std::int64_t slots) {
  PoolStates states;
  states.used = TokenCount(slots);
  return states;
}

TEST_CASE("the host pool holds whole blocks; overfilling or overdrawing it breaks the contract") {
  HostPool pool(TokenCount(35), TokenCount(16));
  CHECK(pool.states().overhead == TokenCount(3));
  CHECK(pool.has_room_for(TokenCount(32)));
  CHECK_FALSE(pool.has_room_for(TokenCount(33)));
  CHECK_THROWS_AS(pool.hold(used(33)), ContractFailure);
  pool.hold(used(20));
  CHECK(pool.states().free == TokenCount(12));
  CHECK_NOTHROW(pool.release(used(20)));
  CHECK_THROWS_AS(pool.release(used(1)), ContractFailure);
}

}  // namespace
}  // namespace recto::sim
