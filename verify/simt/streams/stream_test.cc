// Host programs that order everything are right in any order of the runtime; ones that forget
// something are not.

#include "verify/simt/streams/stream.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"

#include <kernel_dialect.h>

namespace recto::simt {
namespace {

std::vector<HostOptions> all_orders() {
  std::vector<HostOptions> all = {{HostOrder::kEager}, {HostOrder::kLate}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) all.push_back({HostOrder::kRandom, seed});
  return all;
}

// How many orders give the result that is wanted.
template <typename Program>
int count_right(const Program& program, float wanted) {
  int right = 0;
  for (const HostOptions& options : all_orders()) {
    Executor executor({});
    HostRuntime runtime(executor, options);
    if (program(runtime) == wanted) ++right;
  }
  return right;
}

const int kOrders = static_cast<int>(all_orders().size());

__global__ void add(const float* in, float* out, float value) {
  out[threadIdx.x] = in[threadIdx.x] + value;
}

void launch_add(Stream& stream, const float* in, float* out, float value) {
  CHECK(launch_kernel("add", {.block = {4}, .stream = &stream}, add, in, out, value).error ==
        nullptr);
}

TEST_CASE("one stream runs its operations in their order, whatever the runtime's") {
  CHECK(count_right(
            [](HostRuntime& runtime) {
              Stream stream(runtime);
              std::vector<float> host(4, 1.0F);
              std::vector<float> device(4);
              stream.copy(device.data(), host.data(), 16);
              launch_add(stream, device.data(), device.data(), 2.0F);
              stream.copy(host.data(), device.data(), 16);
              stream.synchronise();
              return host[3];
            },
            3.0F) == kOrders);
}

// A copy on one stream, a kernel on another.
float copy_then_add(HostRuntime& runtime, bool waits) {
  Stream copies(runtime);
  Stream kernels(runtime);
  std::vector<float> host(4, 1.0F);
  std::vector<float> device(4);
  std::vector<float> out(4);
  copies.copy(device.data(), host.data(), 16);
  if (waits) {
    Event copied;
    copies.record(copied);
    CHECK(kernels.wait(copied).is_ok());
  }
  launch_add(kernels, device.data(), out.data(), 2.0F);
  kernels.synchronise();
  runtime.finish_all();
  return out[0];
}

TEST_CASE("a kernel that does not wait for a copy on another stream is found") {
  CHECK(count_right([](HostRuntime& runtime) { return copy_then_add(runtime, true); }, 3.0F) ==
        kOrders);
  const int right =
      count_right([](HostRuntime& runtime) { return copy_then_add(runtime, false); }, 3.0F);
  CHECK(right > 0);  // as it is on most days
  CHECK(right < kOrders);
  Executor executor({});
  HostRuntime late(executor, {HostOrder::kLate});
  CHECK(copy_then_add(late, false) == 2.0F);
}

float read_result(HostRuntime& runtime, bool waits) {
  Stream stream(runtime);
  std::vector<float> values(4, 1.0F);
  launch_add(stream, values.data(), values.data(), 1.0F);
  if (waits) stream.synchronise();
  const float seen = values[0];
  runtime.finish_all();
  return seen;
}

TEST_CASE("a host that reads a result too early, or changes an input too early, is found") {
  CHECK(count_right([](HostRuntime& runtime) { return read_result(runtime, true); }, 2.0F) ==
        kOrders);
  CHECK(count_right([](HostRuntime& runtime) { return read_result(runtime, false); }, 2.0F) <
        kOrders);
  CHECK(count_right(
            [](HostRuntime& runtime) {
              Stream stream(runtime);
              std::vector<float> host(4, 1.0F);
              std::vector<float> device(4);
              stream.copy(device.data(), host.data(), 16);
              host.assign(4, 9.0F);
              stream.synchronise();
              return device[0];
            },
            1.0F) < kOrders);
}

TEST_CASE("kernels' arguments are taken at the launch") {
  CHECK(count_right(
            [](HostRuntime& runtime) {
              Stream stream(runtime);
              std::vector<float> values(4);
              float value = 5.0F;
              launch_add(stream, values.data(), values.data(), value);
              value = 9.0F;
              stream.synchronise();
              return values[0];
            },
            5.0F) == kOrders);
}

// Two kernels on streams of their own between a common beginning and a common end.
void fork_and_join(Stream& stream, Stream& side, std::vector<float>& values) {
  Event begun;
  Event done;
  stream.fill(values.data(), 0, 8 * sizeof(float));
  stream.record(begun);
  CHECK(side.wait(begun).is_ok());
  launch_add(stream, values.data(), values.data(), 1.0F);
  launch_add(side, values.data() + 4, values.data() + 4, 2.0F);
  side.record(done);
  CHECK(stream.wait(done).is_ok());
  launch_add(stream, values.data() + 4, values.data(), 10.0F);
}

TEST_CASE("events order streams that part and meet again") {
  CHECK(count_right(
            [](HostRuntime& runtime) {
              Stream stream(runtime);
              Stream side(runtime);
              std::vector<float> values(8, 77.0F);
              fork_and_join(stream, side, values);
              stream.synchronise();
              return values[0];
            },
            12.0F) == kOrders);
}

TEST_CASE("a graph does at each replay what its streams did, with what is in memory then") {
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

TEST_CASE("a capture draws in streams that wait for it, and wants them back") {
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
    CHECK(stream.end_capture(graph).message().find("waited for") != std::string::npos);
    // Both streams are as they were before.
    launch_add(side, values.data(), values.data(), 1.0F);
    side.synchronise();
    CHECK(values[0] == 13.0F);
  }
}

TEST_CASE("captures that are not what they should be are refused") {
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

TEST_CASE("a stream that is waited for while it is captured spoils the capture, and runs nothing") {
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
  CHECK(stream.end_capture(graph).message() ==
        "capture: expected no wait of the host for a stream in it");
  CHECK(graph.size() == 0);
  REQUIRE(stream.begin_capture().is_ok());
  launch_add(stream, values.data(), values.data(), 2.0F);
  CHECK(stream.end_capture(graph).is_ok());
}

TEST_CASE("an event of a capture that is over, or of another runtime, is not waited for") {
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

TEST_CASE("a launch that is not valid says so at once, and in the report") {
  Executor executor({});
  Stream stream(executor);
  std::vector<float> values(4);
  CHECK(launch_kernel("add", {.block = {2000}, .stream = &stream}, add, values.data(),
                      values.data(), 1.0F)
            .error != nullptr);
  REQUIRE(stream.synchronise().findings.size() == 1);
  CHECK(stream.synchronise().findings[0].check == Check::kInvalidLaunch);
  CHECK(launch_kernel("add", {.block = {4}}, add, values.data(), values.data(), 1.0F).error ==
        std::string("expected a stream of the executor, got null"));
}

}  // namespace
}  // namespace recto::simt
