// Host programs with all dependencies give right results in every order of the runtime; programs
// with a missing dependency do not.

#include "verify/simt/streams/stream.h"

#include <functional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/streams/host_programs.h"

namespace recto::simt {
namespace {

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
  CHECK(right > 0);  // some orders hide the missing dependency
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

TEST_CASE("a kernel's arguments are copied at the launch") {
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

TEST_CASE("events order streams that fork and join") {
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

// The host reads what a stream wrote before an event, and waits for the event.
float read_after_event(HostRuntime& runtime, const std::function<void(const Event&)>& wait) {
  Stream stream(runtime);
  std::vector<float> values(4, 1.0F);
  Event added;
  launch_add(stream, values.data(), values.data(), 1.0F);
  stream.record(added);
  wait(added);
  const float seen = values[0];
  runtime.finish_all();
  return seen;
}

TEST_CASE("a host that waits for an event, or asks until it has passed, sees earlier writes") {
  const auto count = [](const std::function<void(const Event&)>& wait) {
    return count_right([&](HostRuntime& runtime) { return read_after_event(runtime, wait); }, 2.0F);
  };
  CHECK(count([](const Event& event) { CHECK(event.synchronise().is_ok()); }) == kOrders);
  CHECK(count([](const Event& event) {
          while (!event.has_passed().value()) {
          }
        }) == kOrders);
  CHECK(count([](const Event&) {}) < kOrders);
  const Event never;
  CHECK(never.synchronise().is_ok());
  CHECK(never.has_passed().value());
}

TEST_CASE("an event of a late runtime has not passed when the host first asks") {
  Executor executor({});
  HostRuntime late(executor, {HostOrder::kLate});
  Stream stream(late);
  std::vector<float> values(4, 1.0F);
  Event added;
  launch_add(stream, values.data(), values.data(), 1.0F);
  stream.record(added);
  CHECK_FALSE(added.has_passed().value());
  CHECK(added.has_passed().value());
  CHECK(values[0] == 2.0F);
}

TEST_CASE("an invalid launch is reported at once, and in the report") {
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

TEST_CASE("a null pointer in a copy or fill is a finding, unless the size is zero") {
  std::vector<float> values(4, 1.0F);
  const auto text_of = [](const std::function<void(Stream&)>& ask) {
    Executor executor({});
    Stream stream(executor);
    ask(stream);
    return stream.synchronise().text();
  };
  CHECK(text_of([&](Stream& stream) { stream.copy(values.data(), nullptr, 16); }) ==
        "out of bounds in the host program: copy reads 16 bytes of a null pointer\n");
  CHECK(text_of([&](Stream& stream) { stream.copy(nullptr, values.data(), 16); }) ==
        "out of bounds in the host program: copy writes 16 bytes of a null pointer\n");
  CHECK(text_of([](Stream& stream) { stream.fill(nullptr, 0, 16); }) ==
        "out of bounds in the host program: fill writes 16 bytes of a null pointer\n");
  CHECK(text_of([](Stream& stream) {
          stream.copy(nullptr, nullptr, 0);
          stream.fill(nullptr, 0, 0);
        }) == "");
}

}  // namespace
}  // namespace recto::simt
