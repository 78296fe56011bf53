// Kernels with observed accesses, on streams without the dependencies they need.

#include <functional>
#include <string>
#include <vector>

#include "verify/simt/checks/checked_run.h"
#include "verify/simt/streams/stream.h"
#include "verify/simt/streams/testdata/stream_kernels.cuh"

namespace recto::simt {
namespace {

std::vector<HostOptions> all_orders() {
  std::vector<HostOptions> all = {{HostOrder::kEager}, {HostOrder::kLate}};
  for (std::uint64_t seed = 0; seed < 10; ++seed) all.push_back({HostOrder::kRandom, seed});
  return all;
}

struct Device : CheckedRun {
  explicit Device(HostOptions options) : runtime(executor(), {options.order, options.seed}) {}

  static constexpr int kLineOfAdd = __LINE__ + 2;
  void launch_add(Stream& stream, const float* in, float* out) {
    CHECK(launch_kernel("add", {.block = {16}, .stream = &stream}, add, in, out, 1.0F).error ==
          nullptr);
  }
  std::string text() {
    runtime.finish_all();
    return runtime.report().text();
  }

  float* values = buffer<float>("values", 64, BufferUse::kReadWrite);
  float* results = buffer<float>("results", 64, BufferUse::kReadWrite);
  int* count = buffer<int>("count", 1, BufferUse::kReadWrite);
  int* counts = buffer<int>("counts", 16, BufferUse::kReadWrite);
  std::vector<float> host = std::vector<float>(64);
  HostRuntime runtime;
  Stream first{runtime};
  Stream second{runtime};
};

// The kernel's name in messages, with the line of its launch.
const std::string kAdd =
    "verify/simt/streams/kernel_dependency_test.cc:" + std::to_string(Device::kLineOfAdd) +
    ": kernel 'add' ";

using Ask = std::function<void(Device& device)>;

// Checks that the two operations are reported in these words if no event orders the streams, and
// not reported otherwise.
void check_pair(const Ask& ask_first, const Ask& ask_second,
                const std::vector<std::string>& words) {
  for (const HostOptions& options : all_orders()) {
    for (const bool waits : {false, true}) {
      Device device(options);
      ask_first(device);
      if (waits) {
        Event event;
        device.first.record(event);
        CHECK(device.second.wait(event).is_ok());
      }
      ask_second(device);
      const std::string text = device.text();
      INFO(text);
      CHECK(device.runtime.report().findings.size() == (waits ? 0 : 1));
      for (const std::string& word : words) CHECK(waits != contains(text, word));
    }
  }
}

void check_silent(const Ask& ask_both) {
  for (const HostOptions& options : all_orders()) {
    Device device(options);
    ask_both(device);
    CHECK(device.text() == "");
  }
}

TEST_CASE("a kernel that does not wait for the copy of its input is found") {
  check_pair([](Device& d) { d.first.copy(d.values, d.host.data(), 256); },
             [](Device& d) { d.launch_add(d.second, d.values + 8, d.results); },
             {"missing dependency in the host program: copy (operation 1) writes 64 bytes of "
              "values+32; " +
              kAdd + "(operation 2) reads the same"});
}

TEST_CASE("a copy or a fill that does not wait for the kernel before it is found") {
  check_pair([](Device& d) { d.launch_add(d.first, d.values, d.results + 4); },
             [](Device& d) { d.second.copy(d.host.data(), d.results, 256); },
             {kAdd + "(operation 1) writes 64 bytes of results+16; copy (operation 2) reads"});
  check_pair([](Device& d) { d.launch_add(d.first, d.values, d.results); },
             [](Device& d) { d.second.fill(d.values + 15, 0, 8); },
             {kAdd + "(operation 1) reads 4 bytes of values+60; fill (operation 2) writes"});
}

TEST_CASE("kernels that pass data between streams without an event are found") {
  check_pair([](Device& d) { d.launch_add(d.first, d.values, d.results); },
             [](Device& d) { d.launch_add(d.second, d.results + 15, d.results + 32); },
             {kAdd + "(operation 1) writes 4 bytes of results+60; " + kAdd +
              "(operation 2) reads the same"});
}

TEST_CASE("a kernel's asynchronous copies count as its reads") {
  check_pair(
      [](Device& d) {
        launch_kernel("copy", {.block = {32}, .stream = &d.first}, copy_in_background, d.values,
                      d.results);
      },
      [](Device& d) { d.second.fill(d.values, 0, 4); },
      {"kernel 'copy' (operation 1) reads 4 bytes of values+0"});
}

TEST_CASE("kernels that read the same, or write every second element each, need no order") {
  check_silent([](Device& d) {
    d.launch_add(d.first, d.values, d.results);
    d.launch_add(d.second, d.values, d.results + 16);
  });
  check_silent([](Device& d) {
    launch_kernel("even", {.block = {16}, .stream = &d.first}, write_alternate, d.values, 0);
    launch_kernel("odd", {.block = {16}, .stream = &d.second}, write_alternate, d.values, 1);
  });
}

TEST_CASE("atomic operations of two kernels need no order, but a read of their result does") {
  const auto count_up_on = [](Device& d, Stream& stream) {
    launch_kernel("count_up", {.block = {16}, .stream = &stream}, count_up, d.count);
  };
  check_silent([&](Device& d) {
    count_up_on(d, d.first);
    count_up_on(d, d.second);
  });
  check_pair([&](Device& d) { count_up_on(d, d.first); },
             [](Device& d) {
               launch_kernel("read", {.block = {16}, .stream = &d.second}, read_count, d.count,
                             d.counts);
             },
             {"kernel 'count_up' (operation 1) atomically updates 4 bytes of count+0"});
}

TEST_CASE("conflicting branches of a graph are found, except in kernels without an observer") {
  for (const HostOptions& options : all_orders()) {
    for (const bool is_observed : {true, false}) {
      Device device(options);
      if (!is_observed) device.executor().set_observer(nullptr);
      Graph graph;
      REQUIRE(device.first.begin_capture().is_ok());
      Event begun;
      Event done;
      device.first.record(begun);
      REQUIRE(device.second.wait(begun).is_ok());
      device.launch_add(device.first, device.values, device.results);
      device.launch_add(device.second, device.values, device.results + 12);
      device.second.record(done);
      REQUIRE(device.first.wait(done).is_ok());
      REQUIRE(device.first.end_capture(graph).is_ok());
      CHECK(device.first.replay(graph).is_ok());
      CHECK(device.first.replay(graph).is_ok());
      CHECK(contains(device.text(), "writes 16 bytes of results+48") == is_observed);
      CHECK(device.runtime.report().findings.size() == (is_observed ? 1 : 0));
    }
  }
}

TEST_CASE("a launch reports the memory that it accessed if requested") {
  Device device({});
  LaunchConfig config = {"even", {1}, {3}};
  CHECK(device.run(config, write_alternate, device.values, 1).touched.empty());
  config.tells_touched = true;
  const auto begin = reinterpret_cast<std::uintptr_t>(device.values);
  CHECK(device.run(config, write_alternate, device.values, 1).touched ==
        std::vector<TouchedRange>{{begin + 4, begin + 8, AccessKind::kWrite},
                                  {begin + 12, begin + 16, AccessKind::kWrite},
                                  {begin + 20, begin + 24, AccessKind::kWrite}});
  CHECK(device.run(config, add, device.values, device.values, 1.0F).touched ==
        std::vector<TouchedRange>{{begin, begin + 12, AccessKind::kRead},
                                  {begin, begin + 12, AccessKind::kWrite}});
}

}  // namespace
}  // namespace recto::simt
