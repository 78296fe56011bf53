// Runs row_sums under several schedules and prints the findings; exits with 0 if there are none.
// Each mode builds this one file.

#include <algorithm>
#include <iostream>
#include <limits>
#include <span>
#include <vector>

#include "core/contract.h"
#include "verify/simt/checks/access_checker.h"
#include "verify/simt/examples/row_sums/row_sums.cuh"
#include "verify/simt/streams/schedule_sweep.h"
#include "verify/simt/streams/stream.h"

#if defined(RECTO_SIMT_TAINT)
#include <sanitizer/msan_interface.h>

// Only memory tainted on purpose is tainted.
extern "C" const char* __msan_default_options() {
  return "poison_in_malloc=0:poison_in_free=0:poison_in_dtor=0";
}
#endif

namespace recto::simt {
namespace {

constexpr int kRows = 3;
constexpr int kLength = 100;
constexpr int kPitch = 128;

template <typename T>
Buffer buffer_of(const char* name, std::vector<T>& values) {
  return {name, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T),
          BufferUse::kWriteFirst};
}

// Uses fresh memory each time. All of `in` is 1 except its padding, which is never written.
SweptRun run_once(Executor& executor) {
  std::vector<float> in(kRows * kPitch, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> out(kRows);
  DeviceMemory memory;
  RECTO_CHECK(memory.add(buffer_of("in", in)).is_ok());
  RECTO_CHECK(memory.add(buffer_of("out", out)).is_ok());
  AccessChecker checker(memory, {});
  for (int row = 0; row < kRows; ++row) {
    float* begin = in.data() + row * kPitch;
    std::fill_n(begin, kLength, 1.0F);
    checker.mark_written(begin, kLength * sizeof(float));
#if defined(RECTO_SIMT_TAINT)
    __msan_poison(begin + kLength, (kPitch - kLength) * sizeof(float));
#endif
  }
#if defined(RECTO_SIMT_CHECKED)
  executor.set_observer(&checker);
#endif
  Stream stream(executor);
  launch_kernel("row_sums", {.grid = {kRows}, .block = {kRowThreads}, .stream = &stream}, row_sums,
                in.data(), kLength, kPitch, out.data());
  SweptRun run{stream.synchronise(), {}};
  executor.set_observer(nullptr);
#if defined(RECTO_SIMT_TAINT)
  if (__msan_test_shadow(out.data(), sizeof(float) * kRows) >= 0) {
    run.report.findings.push_back(
        {.check = Check::kUninitialised, .kernel = "row_sums", .what = "out depends on padding"});
  }
  // The next user of the memory expects it untainted.
  __msan_unpoison(in.data(), sizeof(float) * in.size());
  __msan_unpoison(out.data(), sizeof(float) * out.size());
#endif
  const auto bytes = std::as_bytes(std::span(out));
  run.outputs = {{"out", sizeof(float), {bytes.begin(), bytes.end()}}};
  return run;
}

int run() {
  std::vector<Schedule> schedules = all_schedules(4);
#if defined(RECTO_SIMT_CHECKED)
  // Where accesses are observed, threads are also interrupted at some of them.
  schedules.push_back({.policy = SchedulePolicy::kRandomThread, .seed = 9, .preemption_period = 5});
#endif
  const SweepReport report = sweep_schedules({}, schedules, &run_once);
  std::cout << report.text();
  const std::vector<float> expected(kRows, static_cast<float>(kLength));
  const bool is_right =
      std::ranges::equal(report.outputs[0].bytes, std::as_bytes(std::span(expected)));
  if (!is_right) std::cout << "wrong outputs\n";
  return report.passed() && is_right ? 0 : 1;
}

}  // namespace
}  // namespace recto::simt

int main() { return recto::simt::run(); }
