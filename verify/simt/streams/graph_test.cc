// A replay runs the recorded operations in their order; captures that cannot be run are refused.

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/streams/host_programs.h"
#include "verify/simt/streams/stream.h"

namespace recto::simt {
namespace {

TEST_CASE("each replay of a graph repeats its operations on the memory of that time") {
  for (const HostOptions& options : all_orders()) {
    Executor executor({});
    HostRuntime runtime(executor, options);
    Stream stream(runtime);
    std::vector<float> values(4, 1.0F);
    Graph graph;
    REQUIRE(stream.begin_capture().is_ok());
    launch_add(stream, values.data(), values.data(), 2.0F);
    launch_add(stream, values.data(), values.data(), 3.0F);
    REQUIRE(stream.end_capture(graph).is_ok());
    CHECK(graph.size() == 2);
    runtime.finish_all();
    CHECK(values[0] == 1.0F);  // nothing has run yet
    CHECK(stream.replay(graph).is_ok());
    CHECK(stream.replay(graph).is_ok());
    stream.synchronise();
    CHECK(values[0] == 11.0F);
  }
}

TEST_CASE("a capture includes streams that wait for it, and they must join again") {
  for (const HostOptions& options : all_orders()) {
    Executor executor({});
    HostRuntime runtime(executor, options);
    Stream stream(runtime);
    Stream side(runtime);
    std::vector<float> values(8, 77.0F);
    Graph graph;
    REQUIRE(stream.begin_capture().is_ok());
    fork_and_join(stream, side, values);
    REQUIRE(stream.end_capture(graph).is_ok());
    CHECK(stream.replay(graph).is_ok());
    stream.synchronise();
    CHECK(values[0] == 12.0F);

    REQUIRE(stream.begin_capture().is_ok());
    Event begun;
    stream.record(begun);
    REQUIRE(side.wait(begun).is_ok());
    launch_add(side, values.data(), values.data(), 1.0F);
    CHECK(stream.end_capture(graph).message().find("to wait for the work") != std::string::npos);
    // After the capture both streams run operations at once again.
    launch_add(side, values.data(), values.data(), 1.0F);
    side.synchronise();
    CHECK(values[0] == 13.0F);
  }
}

TEST_CASE("invalid captures are refused") {
  Executor executor({});
  HostRuntime runtime(executor, {});
  Stream stream(runtime);
  Stream other(runtime);
  Graph graph;
  Event outside;
  CHECK(stream.wait(outside).is_ok());  // never recorded
  other.record(outside);
  CHECK(stream.end_capture(graph).code() == StatusCode::kInvalidInput);
  REQUIRE(stream.begin_capture().is_ok());
  CHECK(stream.begin_capture().code() == StatusCode::kInvalidInput);
  CHECK(stream.wait(outside).code() == StatusCode::kInvalidInput);
  CHECK(other.end_capture(graph).code() == StatusCode::kInvalidInput);
  CHECK(stream.end_capture(graph).is_ok());
}

TEST_CASE("a wait for a capturing stream invalidates the capture, and runs nothing") {
  Executor executor({});
  HostRuntime runtime(executor, {.order = HostOrder::kLate});
  Stream other(runtime);
  Stream stream(runtime);
  std::vector<float> values(4, 1.0F);
  launch_add(other, values.data(), values.data(), 1.0F);
  Graph graph;
  REQUIRE(stream.begin_capture().is_ok());
  for (int i = 0; i < 3; ++i) launch_add(stream, values.data(), values.data(), 2.0F);
  stream.synchronise();
  CHECK(values[0] == 1.0F);  // neither its own operations nor others of the same numbers
  CHECK(stream.end_capture(graph).message() == "capture: expected no host wait for its streams");
  CHECK(graph.size() == 0);
  REQUIRE(stream.begin_capture().is_ok());
  launch_add(stream, values.data(), values.data(), 2.0F);
  CHECK(stream.end_capture(graph).is_ok());
}

TEST_CASE("the host cannot wait for an event of a capture") {
  Executor executor({});
  HostRuntime runtime(executor, {});
  Stream stream(runtime);
  for (const bool waits : {false, true}) {
    Event event;
    Graph graph;
    REQUIRE(stream.begin_capture().is_ok());
    stream.record(event);
    const Status status = waits ? event.synchronise() : event.has_passed().status();
    CHECK(status.message() == "event: expected one that was not recorded in a capture");
    CHECK(stream.end_capture(graph).code() == StatusCode::kInvalidInput);
  }
}

TEST_CASE("an event of an earlier capture, or of another runtime, is not waited for") {
  Executor executor({});
  HostRuntime runtime(executor, {.order = HostOrder::kLate});
  Stream stream(runtime);
  Stream side(runtime);
  std::vector<float> values(4, 1.0F);
  Event event;
  Graph graph;
  REQUIRE(stream.begin_capture().is_ok());
  stream.record(event);
  REQUIRE(stream.end_capture(graph).is_ok());
  CHECK(side.wait(event).message() ==
        "event: expected one whose capture is not over, or that was recorded again");
  launch_add(side, values.data(), values.data(), 1.0F);
  side.synchronise();
  CHECK(values[0] == 2.0F);  // the stream is in no capture
  stream.record(event);
  CHECK(side.wait(event).is_ok());

  HostRuntime elsewhere(executor, {});
  Stream stranger(elsewhere);
  CHECK(stranger.wait(event).message() ==
        "event: expected one that a stream of the same runtime has recorded");
  launch_add(stranger, values.data(), values.data(), 1.0F);
  stranger.synchronise();
  CHECK(values[0] == 3.0F);
}

// Replays one graph on two streams that nothing orders.
float replay_on_two(HostRuntime& runtime) {
  Stream first(runtime);
  Stream second(runtime);
  std::vector<float> values(8, 0.0F);
  Graph graph;
  REQUIRE(first.begin_capture().is_ok());
  launch_add(first, values.data(), values.data() + 4, 1.0F);
  launch_add(first, values.data() + 4, values.data(), 1.0F);
  first.copy(values.data() + 4, values.data(), 16);
  REQUIRE(first.end_capture(graph).is_ok());
  CHECK(first.replay(graph).is_ok());
  CHECK(second.replay(graph).is_ok());
  CHECK(first.replay(graph).is_ok());
  runtime.finish_all();
  CHECK(runtime.report().text().empty());
  return values[4];
}

TEST_CASE("replays of one graph come one after the other, on whatever streams") {
  CHECK(count_right(replay_on_two, 6.0F) == kOrders);
  Executor executor({});
  HostRuntime runtime(executor, {});
  Stream stream(runtime);
  Graph graph;
  CHECK(stream.replay(graph).is_ok());  // nothing to do
  REQUIRE(stream.begin_capture().is_ok());
  std::vector<float> values(4);
  stream.fill(values.data(), 0, 16);
  REQUIRE(stream.end_capture(graph).is_ok());
  CHECK(stream.replay(graph).is_ok());
  HostRuntime elsewhere(executor, {});
  CHECK(Stream(elsewhere).replay(graph).message() ==
        "graph: expected one that streams of the same runtime recorded");
}

}  // namespace
}  // namespace recto::simt
