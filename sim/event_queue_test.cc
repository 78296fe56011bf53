#include "sim/event_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

TEST_CASE("events of one instant come in the order step end, transfer end, arrival") {
  EventQueue events;
  events.schedule(SimTime(5), EventKind::kArrival);
  events.schedule(SimTime(5), EventKind::kTransferEnd);
  events.schedule(SimTime(5), EventKind::kStepEnd);
  CHECK(events.next_time() == SimTime(5));
  CHECK(events.pop().kind == EventKind::kStepEnd);
  CHECK(events.pop().kind == EventKind::kTransferEnd);
  CHECK(events.pop().kind == EventKind::kArrival);
  CHECK(events.empty());
  CHECK(events.now() == SimTime(5));
}

TEST_CASE("scheduling an event in the past breaks the contract") {
  EventQueue events;
  events.schedule(SimTime(5), EventKind::kArrival);
  events.pop();
  events.schedule(SimTime(5), EventKind::kArrival);
  CHECK_THROWS_AS(events.schedule(SimTime(4), EventKind::kArrival), ContractFailure);
}

TEST_CASE("events of equal time and kind keep the order in which they were scheduled") {
  property("as a stable sort would", [](Draw& draw) {
    const auto drawn = draw.list([](Draw& one) {
      const int time = one.growing<int>(0, 3);
      return std::pair(time, one.growing<int>(0, 2));
    });
    EventQueue events;
    std::vector<std::tuple<int, int, std::uint64_t>> expected;
    for (const auto& [time, kind] : drawn) {
      events.schedule(SimTime(time), static_cast<EventKind>(kind));
      expected.emplace_back(time, kind, expected.size());
    }
    std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) {
      return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
    });
    for (const auto& [time, kind, number] : expected) {
      const Event event = events.pop();
      RECTO_REQUIRE(event.time == SimTime(time));
      RECTO_REQUIRE(static_cast<int>(event.kind) == kind);
      RECTO_REQUIRE(event.sequence_number == number);
    }
    RECTO_REQUIRE(events.empty());
  });
}

}  // namespace
}  // namespace recto::sim
