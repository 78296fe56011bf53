// Copies and fills, whose accesses are known, on streams without the dependencies they need.

#include "verify/simt/streams/dependency_check.h"

#include <functional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/device_memory.h"
#include "verify/simt/streams/stream.h"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<HostOptions> all_orders() {
  std::vector<HostOptions> all = {{HostOrder::kEager}, {HostOrder::kLate}};
  for (std::uint64_t seed = 0; seed < 10; ++seed) all.push_back({HostOrder::kRandom, seed});
  return all;
}

// A device with one buffer of 256 bytes, and host memory of the same size.
struct Device {
  explicit Device(HostOptions options = {}) : runtime(executor, with_names(options)) {}

  HostOptions with_names(HostOptions options) {
    REQUIRE(memory.add({"device", bytes.data(), bytes.size()}).is_ok());
    options.memory = &memory;
    return options;
  }
  void wait_for(Stream& waiting, Stream& other) {
    Event event;
    other.record(event);
    CHECK(waiting.wait(event).is_ok());
  }
  const std::vector<Finding>& findings() {
    runtime.finish_all();
    return runtime.report().findings;
  }
  std::string text() {
    findings();
    return runtime.report().text();
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(256);
  std::vector<std::byte> host = std::vector<std::byte>(256);
  DeviceMemory memory;
  Executor executor{{}};
  HostRuntime runtime;
  Stream first{runtime};
  Stream second{runtime};
};

void copy_in(Device& device, Stream& stream) {
  stream.copy(device.bytes.data(), device.host.data(), 64);
}
void copy_in_other(Device& device, Stream& stream) {
  stream.copy(device.bytes.data() + 32, device.host.data() + 128, 64);
}
void copy_out(Device& device, Stream& stream) {
  stream.copy(device.host.data() + 64, device.bytes.data() + 60, 64);
}
void copy_out_other(Device& device, Stream& stream) {
  stream.copy(device.host.data() + 192, device.bytes.data() + 60, 64);
}
void fill(Device& device, Stream& stream) { stream.fill(device.bytes.data() + 16, 7, 64); }

TEST_CASE("operations on two streams that touch the same bytes need an event between them") {
  using Ask = void (*)(Device&, Stream&);
  const std::pair<Ask, Ask> pairs[] = {{copy_in, copy_out},      {copy_out, copy_in},
                                       {copy_in, copy_in_other}, {fill, copy_in},
                                       {copy_out, fill},         {fill, fill}};
  for (const HostOptions& options : all_orders()) {
    for (const auto& [one, other] : pairs) {
      Device wrong(options);
      one(wrong, wrong.first);
      other(wrong, wrong.second);
      REQUIRE(wrong.findings().size() == 1);
      CHECK(wrong.findings()[0].check == Check::kMissingDependency);
      Device right(options);
      one(right, right.first);
      right.wait_for(right.second, right.first);
      other(right, right.second);
      CHECK(right.text() == "");
    }
    Device readers(options);
    copy_out(readers, readers.first);
    copy_out_other(readers, readers.second);
    CHECK(readers.text() == "");
  }
}

TEST_CASE("a missing dependency is reported with both operations, their accesses, and the buffer") {
  for (const HostOptions& options : all_orders()) {
    Device device(options);
    copy_in(device, device.first);
    fill(device, device.second);
    CHECK(device.text() ==
          "missing dependency in the host program: copy (operation 1) writes 48 bytes of "
          "device+16; fill (operation 2) writes the same bytes, and no stream, event, graph or "
          "host wait orders the two\n");
  }
  // Host memory has no name.
  Device device;
  copy_out(device, device.first);
  device.second.fill(device.host.data() + 100, 1, 1);
  CHECK_THAT(device.text(), ContainsSubstring("1 byte of memory at 0x"));
}

TEST_CASE("adjacent ranges do not conflict, and one common byte does") {
  for (const HostOptions& options : all_orders()) {
    Device apart(options);
    apart.first.fill(apart.bytes.data(), 1, 100);
    apart.second.fill(apart.bytes.data() + 100, 2, 100);
    apart.second.fill(apart.bytes.data(), 3, 0);
    CHECK(apart.text() == "");
    Device together(options);
    together.first.fill(together.bytes.data(), 1, 101);
    together.second.fill(together.bytes.data() + 100, 2, 100);
    CHECK_THAT(together.text(), ContainsSubstring("writes 1 byte of device+100;"));
  }
}

TEST_CASE("operations that the host waited for come before its later requests") {
  for (const HostOptions& options : all_orders()) {
    Device device(options);
    copy_in(device, device.first);
    device.first.synchronise();
    copy_out(device, device.second);
    device.runtime.finish_all();
    fill(device, device.first);
    CHECK(device.text() == "");
    // Waiting for the second stream does not order the first stream's fill.
    device.second.synchronise();
    fill(device, device.first);
    device.second.synchronise();
    copy_in(device, device.second);
    CHECK(device.findings().size() == 1);
  }
}

TEST_CASE("order is transitive from stream to stream") {
  for (const HostOptions& options : all_orders()) {
    for (const bool second_waits : {true, false}) {
      Device device(options);
      Stream third(device.runtime);
      copy_in(device, device.first);
      if (second_waits) device.wait_for(device.second, device.first);
      device.second.fill(device.bytes.data() + 200, 1, 8);
      device.wait_for(third, device.second);
      copy_out(device, third);
      CHECK(device.findings().size() == (second_waits ? 0 : 1));
    }
  }
}

TEST_CASE(
    "a host that waited for an event is ordered after the operations before it, not after it") {
  for (const HostOptions& options : all_orders()) {
    for (const bool asks : {false, true}) {
      Device device(options);
      Event filled;
      device.first.fill(device.bytes.data(), 1, 8);
      device.first.record(filled);
      device.first.fill(device.bytes.data() + 8, 2, 8);
      while (asks && !filled.has_passed().value()) {
      }
      if (!asks) CHECK(filled.synchronise().is_ok());
      device.second.fill(device.bytes.data() + 2, 3, 10);
      REQUIRE(device.findings().size() == 1);
      CHECK_THAT(device.text(), ContainsSubstring("4 bytes of device+8"));
    }
  }
}

// Two branches of a graph: the side branch fills 8 bytes from `from` on, the other one fills the
// first 8.
Graph two_branches(Device& device, std::size_t from) {
  Graph graph;
  REQUIRE(device.first.begin_capture().is_ok());
  device.wait_for(device.second, device.first);
  device.first.fill(device.bytes.data(), 1, 8);
  device.second.fill(device.bytes.data() + from, 2, 8);
  device.wait_for(device.first, device.second);
  device.first.copy(device.host.data(), device.bytes.data(), 16);
  REQUIRE(device.first.end_capture(graph).is_ok());
  return graph;
}

TEST_CASE(
    "branches of a graph are unordered at each replay, and replays of one graph are ordered") {
  for (const HostOptions& options : all_orders()) {
    Device right(options);
    Graph apart = two_branches(right, 8);
    for (int i = 0; i < 3; ++i) CHECK(right.first.replay(apart).is_ok());
    CHECK(right.text() == "");
    // Replays of one graph on two streams are ordered, too; replays of two graphs are not.
    CHECK(right.first.replay(apart).is_ok());
    CHECK(right.second.replay(apart).is_ok());
    CHECK(right.text() == "");
    Graph another = two_branches(right, 8);
    CHECK(right.first.replay(apart).is_ok());
    CHECK(right.second.replay(another).is_ok());
    CHECK(right.findings().size() > 0);
    Device wrong(options);
    Graph meeting = two_branches(wrong, 4);
    CHECK(wrong.text() == "");  // recorded, and not run
    for (int i = 0; i < 3; ++i) CHECK(wrong.first.replay(meeting).is_ok());
    REQUIRE(wrong.findings().size() == 1);
    CHECK_THAT(wrong.text(), ContainsSubstring("4 bytes of device+4"));
  }
}

TEST_CASE("an event that is missing repeatedly is reported once, and reports have a limit") {
  for (const HostOptions& options : all_orders()) {
    Device device(options);
    for (int i = 0; i < 100; ++i) {
      copy_in(device, device.first);
      copy_out(device, device.second);
    }
    CHECK(device.findings().size() == 1);
  }
  Device device;
  for (std::size_t i = 0; i < 64; ++i) {
    device.first.fill(device.host.data() + 2 * i, 1, 1);
    device.second.fill(device.host.data() + 2 * i, 1, 1);
  }
  CHECK(device.findings().size() == DependencyCheck::kFindingsMax);
}

TEST_CASE("a runtime without the check reports nothing, nor does a stream without a runtime") {
  Device device({.checks_dependencies = false});
  copy_in(device, device.first);
  copy_out(device, device.second);
  CHECK(device.text() == "");
  Stream alone(device.executor);
  copy_in(device, alone);
  copy_out(device, alone);
  CHECK(alone.synchronise().passed());
}

// Four streams that pass a tile of a ring to each other.
TEST_CASE("thousands of ordered operations cause no report") {
  for (const HostOrder order : {HostOrder::kEager, HostOrder::kLate}) {
    Device device({order});
    std::vector<std::unique_ptr<Stream>> streams;
    for (int i = 0; i < 4; ++i) streams.push_back(std::make_unique<Stream>(device.runtime));
    constexpr std::size_t kOperations = 4000;
    for (std::size_t i = 0; i < kOperations; ++i) {
      Stream& stream = *streams[i % 4];
      device.wait_for(stream, *streams[(i + 3) % 4]);
      stream.copy(device.bytes.data() + (i + 1) % 16 * 16, device.bytes.data() + i % 16 * 16, 16);
      if (i % 512 == 511) stream.synchronise();
    }
    CHECK(device.text() == "");
  }
}

}  // namespace
}  // namespace recto::simt
