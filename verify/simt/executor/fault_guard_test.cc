// Machine faults in kernels, and kernels that make no progress.

#include "verify/simt/executor/fault_guard.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/fibers/stack_pool.h"

#include <kernel_dialect.h>

namespace recto::simt {
namespace {

// The only finding of a launch of one kernel.
template <typename... Parameters>
Finding found(const Dim3& threads, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
  Executor executor({.stall_seconds = 1});
  const LaunchReport report = launch(executor, {"kernel", {2}, threads}, kernel, arguments...);
  INFO(report.text());
  REQUIRE(report.findings.size() == 1);
  return report.findings[0];
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

__global__ void spin_alone(volatile int* flag) {
  while (*flag == 0) {
  }
}

TEST_CASE("a kernel that spins without waiting is reported") {
  int flag = 0;
  const Finding finding = found({33}, spin_alone, &flag);
  CHECK(finding.check == Check::kNeverEnds);
  CHECK(finding.thread->linear == 0);
}

// In order: two threads exit, six wait at a barrier, and eight wait for lane 16, which passes a
// barrier of its own and spins. The others have not begun.
const int kLineOfWaiting = __LINE__ + 3;
__global__ void spin_beside_others(volatile int* flag) {
  if (threadIdx.x < 2) return;
  if (threadIdx.x < 8) __syncthreads();
  if (threadIdx.x < 16) __syncwarp(0x0001ff00);
  if (threadIdx.x == 16) __syncwarp(1U << 16);
  while (*flag == 0) {
  }
}

TEST_CASE("a spinning kernel is reported with the place of each of its threads") {
  int flag = 0;
  const Finding finding = found({40}, spin_beside_others, &flag);
  CHECK(finding.check == Check::kNeverEnds);
  CHECK(finding.thread->linear == 16);
  const auto at_line = [](int line) {
    return "at verify/simt/executor/fault_guard_test.cc:" + std::to_string(kLineOfWaiting + line);
  };
  CHECK(finding.what ==
        "has run for 1 seconds without a barrier, a warp-wide or an atomic operation, the only "
        "places where threads take turns; threads 0 to 1: exited, "
        "threads 2 to 7: waiting __syncthreads " +
            at_line(0) + ", threads 8 to 15: waiting __syncwarp " + at_line(1) +
            ", thread 16: running, last __syncwarp " + at_line(2) + ", threads 17 to 39: running");
}

__global__ void sleep_for(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST_CASE("many thread blocks that end are not mistaken for one that does not") {
  Executor executor({.stall_seconds = 1});
  CHECK(launch(executor, {"kernel", {80}, {1}}, sleep_for, 50).text() == "");
}

TEST_CASE("a spinning kernel is reported though other kernels are launched meanwhile") {
  int flag = 0;
  // Sets the flag after a while, because no other code would end the kernel if the test failed.
  const std::jthread others([&flag](const std::stop_token& stop) {
    Executor executor({});
    for (int i = 0; i < 50 && !stop.stop_requested(); ++i) {
      launch(executor, {"other", {1}, {1}}, sleep_for, 100);
    }
    std::atomic_ref<int>(flag).store(1);
  });
  CHECK(found({33}, spin_alone, &flag).check == Check::kNeverEnds);
}

// AddressSanitizer has handlers of its own, which end the program.
#ifndef __SANITIZE_ADDRESS__
__global__ void write_to(int* address) { address[threadIdx.x] = 1; }

TEST_CASE("a memory fault is reported with thread, line and address") {
  const Finding finding = found({64}, write_to, nullptr);
  CHECK(finding.check == Check::kFault);
  CHECK(finding.thread->linear == 0);
  CHECK(contains(finding.what, "touches 0x0"));
  CHECK(contains(finding.text(), "fault_guard_test.cc:"));
}

__global__ void divide(const int* dividend, const int* divisor, int* out) {
  out[threadIdx.x] = *dividend / *divisor;
}

TEST_CASE("a division by zero is reported as one") {
  int seven = 7;
  int zero = 0;
  int out[4] = {};
  const Finding finding = found({4}, divide, &seven, &zero, out);
  CHECK(finding.check == Check::kFault);
  CHECK(contains(finding.what, "divides an integer by zero"));
  CHECK(contains(finding.text(), "fault_guard_test.cc:"));
}

__global__ void recurse_without_end(int depth, int* out) {
  volatile int frame[256];
  frame[0] = depth;
  if (depth != std::numeric_limits<int>::min()) recurse_without_end(depth + 1, out);
  *out = frame[0];
}

TEST_CASE("a stack overflow is reported as one, and ends only its kernel") {
  int out = 0;
  const Finding finding = found({1}, recurse_without_end, 0, &out);
  CHECK(finding.check == Check::kFault);
  CHECK(contains(finding.what, "stack of " + std::to_string(default_stack_bytes()) + " bytes"));
}
#endif

}  // namespace
}  // namespace recto::simt
