#pragma once

// For tests: PTX written in the test, loaded and launched.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "verify/ptx/launch.h"

namespace recto::ptx {

// A kernel "k" in a module of its own.
struct TestKernel {
  std::string parameters = ".param .u64 out";
  std::string body = {};
  std::string declarations = {};  // of the module

  std::string text() const;
};

// The kernel "k" of the text; fails the test if there is none.
class LoadedKernel {
 public:
  explicit LoadedKernel(const std::string& text);
  explicit LoadedKernel(const TestKernel& kernel) : LoadedKernel(kernel.text()) {}

  LaunchReport run(const LaunchShape& shape, const Arguments& arguments, const DeviceMemory& memory,
                   const LaunchOptions& options = {}) const;
  const Module& module() const { return module_; }
  const Kernel& kernel() const { return kernel_; }

 private:
  Module module_;
  Kernel kernel_;
};

// Why the text cannot be run; empty if it can.
std::string refusal_of(const std::string& text);
inline std::string refusal_of(const TestKernel& kernel) { return refusal_of(kernel.text()); }

// Launches in one thread block with a buffer "out" of 64 bits for each thread, which holds zeros.
struct OutRun {
  LaunchReport report = {};
  std::vector<std::uint64_t> out = {};
};
OutRun run_out(const TestKernel& kernel, unsigned threads, const LaunchOptions& options = {});

// A kernel whose `body` computes %r1 from %r0, the thread's number, with registers %p1 to %p9, %h1
// to %h9, %r1 to %r29, %rd1 to %rd9 and %f1 to %f9, 4096 bytes of shared memory "smem", aligned to
// 1024, and 4 mbarriers "bar".
TestKernel thread_kernel(const std::string& body);

// Runs it under every schedule with all checks: no findings, and expected(thread) in each %r1.
void check_threads(const std::string& body, unsigned threads,
                   const std::function<std::uint64_t(unsigned)>& expected);

// Every policy, with a few seeds.
std::vector<Schedule> test_schedules();

}  // namespace recto::ptx
