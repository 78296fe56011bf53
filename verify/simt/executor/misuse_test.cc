// Findings in kernels and launches that need no observation of memory accesses.

#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/executor.h"

#include <kernel_dialect.h>

namespace recto::simt {
namespace {

// The only finding of a launch; empty if there is none.
template <typename... Parameters>
Finding found(const LaunchConfig& config, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
  Executor executor({.switches_max = 100000});
  const LaunchReport report = launch(executor, config, kernel, arguments...);
  INFO(report.text());
  CHECK(report.findings.size() == 1);
  return report.findings.empty() ? Finding{} : report.findings[0];
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

__global__ void do_nothing() {}

TEST_CASE("a launch within the limits of the hardware passes, one beyond is refused") {
  Executor executor({});
  const auto text = [&executor](const LaunchConfig& config) {
    return launch(executor, config, do_nothing).text();
  };
  CHECK(text({"k", {1}, {1024}}).empty());
  CHECK(contains(text({"k", {1}, {1025}}), "expected 1 to 1024 threads"));
  CHECK(contains(text({"k", {1}, {32, 33}}), "got 1056 threads"));
  CHECK(text({"k", {1}, {1, 1, 64}}).empty());
  CHECK(contains(text({"k", {1}, {1, 1, 65}}), "z up to 64"));
  CHECK(contains(text({"k", {1}, {0}}), "block (0, 1, 1)"));
  CHECK(contains(text({"k", {0}, {1}}), "grid (0, 1, 1)"));
  CHECK(contains(text({"k", {1, 65536}, {1}}), "grid (1, 65536, 1)"));
  CHECK(text({"k", {1}, {1}, 227 << 10}).empty());
  CHECK(contains(text({"k", {1}, {1}, (227 << 10) + 1}), "at most 232448 bytes, got 232449"));
  CHECK(text({"k", {16}, {1024}, 0, true}).empty());
  CHECK(contains(text({"k", {17}, {1024}, 0, true}), "at most 16384 threads in all, got 17408"));
  CHECK(contains(text({"k", {0}, {1}}), "invalid launch in kernel 'k'"));
}

TEST_CASE("a null pointer is no kernel, on a stream and without one") {
  void (*const none)(int*) = nullptr;
  CHECK(contains(found({"none", {1}, {1}}, none, nullptr).text(),
                 "invalid launch in kernel 'none': expected a kernel, got a null pointer"));
  Executor executor({});
  Stream stream(executor);
  const KernelStatus status = launch_kernel("none", {.stream = &stream}, none, nullptr);
  CHECK(std::string(status.error) == "expected a kernel, got null");
  CHECK(contains(stream.synchronise().text(), "expected a kernel, got a null pointer"));
}

__global__ void use_much_shared(int* out) {
  KERNEL_SHARED(int, first, [6000]);
  KERNEL_SHARED(int, second, [6289]);
  first[0] = second[0] = 0;
  *out = 1;
}

TEST_CASE("more shared variables than fit are refused by name") {
  int out = 0;
  const Finding finding = found({"use_much_shared", {1}, {1}}, use_much_shared, &out);
  CHECK(finding.check == Check::kInvalidLaunch);
  CHECK(contains(finding.what, "'second'"));
  CHECK(out == 0);
}

__global__ void use_all_static_shared(int* out) {
  KERNEL_SHARED(int, all, [12288]);
  all[0] = 0;
  *out = 1;
}

TEST_CASE("shared variables and dynamic shared memory have a limit together") {
  int out = 0;
  Executor executor({});
  CHECK(launch(executor, {"both", {1}, {1}, 179 << 10}, use_all_static_shared, &out).passed());
  CHECK(out == 1);
  out = 0;
  const Finding finding = found({"both", {1}, {1}, (179 << 10) + 1}, use_all_static_shared, &out);
  CHECK(finding.check == Check::kInvalidLaunch);
  CHECK(contains(finding.what, "49152 bytes for shared variable 'all'"));
  CHECK(contains(finding.what, "183297 bytes of dynamic shared memory"));
  CHECK(contains(finding.what, "232448"));
  CHECK(out == 0);
}

__global__ void note_places(std::uintptr_t* out) {
  KERNEL_SHARED(int, first, [4]);
  KERNEL_DYNAMIC_SHARED(unsigned char, dynamic);
  out[0] = reinterpret_cast<std::uintptr_t>(first);
  out[1] = reinterpret_cast<std::uintptr_t>(dynamic);
}

TEST_CASE("dynamic shared memory lies apart from shared variables, even if it is empty") {
  for (const std::size_t bytes : {0, 1, 64}) {
    std::uintptr_t places[2] = {};
    Executor executor({});
    CHECK(launch(executor, {"places", {1}, {1}, bytes}, note_places, places).passed());
    const bool is_apart = places[0] + 16 <= places[1] || places[1] + bytes < places[0];
    CHECK(is_apart);
  }
}

TEST_CASE("dynamic shared memory is aligned to 16 bytes, and to no more") {
  std::uintptr_t places[2] = {};
  Executor executor({});
  CHECK(launch(executor, {"places", {1}, {1}, 64}, note_places, places).passed());
  CHECK(places[1] % 32 == 16);
}

__global__ void meet_at_two_barriers() {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_CASE("threads of one block at two barriers are reported with both places") {
  const Finding finding = found({"meet_at_two_barriers", {3}, {64}}, meet_at_two_barriers);
  CHECK(finding.check == Check::kBarrierDivergence);
  CHECK(finding.thread->linear == 16);
  CHECK(finding.other_thread->linear == 0);
  CHECK(finding.place.site.line == finding.other_place.site.line + 2);
  CHECK(contains(finding.text(), "misuse_test.cc:"));
}

__global__ void leave_before_barrier(int threads) {
  if (static_cast<int>(threadIdx.x) >= threads) return;
  __syncthreads();
}

TEST_CASE("threads that exit before a barrier are reported, unless that is allowed") {
  const Finding finding = found({"leave", {1}, {64}}, leave_before_barrier, 40);
  CHECK(finding.check == Check::kExitBeforeBarrier);
  CHECK(contains(finding.text(), "has exited: threads 0 to 39: waiting __syncthreads at verify/"));
  CHECK(finding.other_thread->linear == 40);
  Executor strict({});
  CHECK(launch(strict, {"leave", {1}, {64}}, leave_before_barrier, 64).passed());
  Executor lenient({.allows_exit_before_barrier = true});
  CHECK(launch(lenient, {"leave", {1}, {64}}, leave_before_barrier, 40).passed());
}

__global__ void wait_for_each_other() {
  if (threadIdx.x == 32) {
    __syncwarp(0x3);
  } else {
    __syncthreads();
  }
}

TEST_CASE("a barrier that some threads never reach is reported") {
  const Finding finding = found({"wait_for_each_other", {1}, {34}}, wait_for_each_other);
  CHECK(finding.check == Check::kBarrierDivergence);
  CHECK(contains(finding.text(), "__syncwarp"));
}

__global__ void shuffle(unsigned mask, int source) { __shfl_sync(mask, 1, source); }

TEST_CASE("a lane that is not in its own mask is reported") {
  const Finding finding = found({"shuffle", {1}, {32}}, shuffle, 0x00ffffffU, 0);
  CHECK(finding.check == Check::kWarpMask);
  CHECK(finding.thread->linear == 24);
  CHECK(contains(finding.what, "0x00ffffff"));
}

__global__ void shuffle_with_half_mask() { __shfl_xor_sync(0xffff, 1, 16); }

TEST_CASE("a lane that is not in its own mask is reported though others of that mask wait") {
  Executor executor({.schedule = {SchedulePolicy::kReverse}});
  LaunchReport report = launch(executor, {"half", {1}, {32}}, shuffle_with_half_mask);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kWarpMask);
  executor.set_options({.schedule = {SchedulePolicy::kRandomThread, 3}});
  report = launch(executor, {"half", {1}, {32}}, shuffle_with_half_mask);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kWarpMask);
}

__global__ void disagree_about_mask() {
  __shfl_sync(threadIdx.x < 16 ? 0xffffffffU : 0xffff0001U, 1, 0);
}

TEST_CASE("lanes that disagree about their mask are reported with both masks") {
  const Finding finding = found({"disagree_about_mask", {1}, {32}}, disagree_about_mask);
  CHECK(finding.check == Check::kWarpMask);
  CHECK(contains(finding.text(), "0xffff0001"));
  CHECK(contains(finding.text(), "0xffffffff"));
}

__global__ void do_different_things() {
  if (threadIdx.x < 16) {
    __shfl_sync(0xffffffff, 1, 0);
  } else {
    __syncwarp();
  }
}

TEST_CASE("lanes of one mask at different operations are reported with both operations") {
  const Finding finding = found({"do_different_things", {1}, {32}}, do_different_things);
  CHECK(finding.check == Check::kWarpMask);
  CHECK(contains(finding.text(), "__shfl_sync"));
  CHECK(contains(finding.text(), "__syncwarp"));
}

__global__ void shuffle_from_half() {
  if (threadIdx.x < 16) __shfl_sync(0xffff, 1, 20);
}

__global__ void shuffle_in_segments_of(int width) { __shfl_down_sync(0xffffffff, 1, 1, width); }

TEST_CASE("shuffles of an invalid width are reported") {
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    Executor executor({});
    CHECK(launch(executor, {"shuffle", {1}, {32}}, shuffle_in_segments_of, width).passed());
  }
  for (const int width : {0, 3, -4, 64}) {
    const Finding finding = found({"shuffle", {1}, {32}}, shuffle_in_segments_of, width);
    CHECK(finding.check == Check::kShuffleSource);
    CHECK(contains(finding.text(), "width " + std::to_string(width)));
    CHECK(contains(finding.text(), "misuse_test.cc:"));
  }
}

TEST_CASE("a shuffle from a lane that does not take part is reported") {
  const Finding finding = found({"shuffle_from_half", {1}, {32}}, shuffle_from_half);
  CHECK(finding.check == Check::kShuffleSource);
  CHECK(contains(finding.what, "lane 20"));
}

__global__ void shuffle_in_short_warp(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffff, static_cast<int>(threadIdx.x), 1);
}

TEST_CASE("missing lanes of a partial warp are not waited for") {
  Executor executor({});
  std::vector<int> out(6);
  CHECK(launch(executor, {"short", {1}, {6}}, shuffle_in_short_warp, out.data()).passed());
  CHECK(out == std::vector<int>{1, 0, 3, 2, 5, 4});
}

__global__ void spin(volatile int* flag) {
  while (*flag == 0) __syncwarp();
}

TEST_CASE("a kernel that never ends is reported with the place of each thread") {
  int flag = 0;
  const Finding finding = found({"spin", {1}, {33}}, spin, &flag);
  CHECK(finding.check == Check::kNeverEnds);
  CHECK(contains(finding.what, "threads 0 to 31: waiting __syncwarp at"));
}

__global__ void wait_for_grid() { grid_barrier(); }

TEST_CASE("the barrier of a grid asks for a cooperative launch") {
  const Finding finding = found({"wait_for_grid", {2}, {1}}, wait_for_grid);
  CHECK(finding.check == Check::kInvalidLaunch);
  CHECK(contains(finding.what, "cooperative"));
  Executor executor({});
  CHECK(launch(executor, {"k", {2}, {1}, 0, true}, wait_for_grid).passed());
}

__global__ void fail_in_blocks(unsigned first) {
  if (blockIdx.x >= first && threadIdx.x == 0) __syncwarp(0x2);
}

TEST_CASE("findings do not depend on the number of OS threads") {
  for (const SchedulePolicy policy : kSchedulePolicies) {
    std::string texts[2];
    for (unsigned os_threads : {1U, 2U}) {
      Executor executor({.schedule = {policy, 3}, .os_threads = os_threads});
      texts[os_threads - 1] =
          launch(executor, {"fail_in_blocks", {50}, {4}}, fail_in_blocks, 20U).text();
    }
    CHECK_FALSE(texts[0].empty());
    CHECK(texts[0] == texts[1]);
  }
}

TEST_CASE("an executor works on after a kernel that was abandoned") {
  Executor executor({});
  CHECK_FALSE(launch(executor, {"bad", {2}, {64}}, meet_at_two_barriers).passed());
  std::vector<int> out(6);
  CHECK(launch(executor, {"short", {1}, {6}}, shuffle_in_short_warp, out.data()).passed());
}

}  // namespace
}  // namespace recto::simt
