#include "verify/simt/executor/sanitizer_reports.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstddef>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"

// Defined by the sanitizers, in programs that have them.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace recto::simt {
namespace {

thread_local bool has_told = false;

// Does not use the heap, which may be what is broken.
void tell_thread() {
  if (current_thread == nullptr) return;
  const ThreadState& thread = running_thread();
  const Dim3& block = thread.block_index;
  std::array<char, 300> line;
  const auto written = fmt::format_to_n(
      line.data(), line.size(),
      "in kernel '{:.160}': thread {} (warp {}, lane {}) of block ({}, {}, {})\n",
      thread.block->launch().config.kernel, thread.linear, thread.linear / kWarpSize,
      thread.linear % kWarpSize, block.x, block.y, block.z);
  [[maybe_unused]] const auto told =
      write(STDERR_FILENO, line.data(), static_cast<std::size_t>(written.out - line.data()));
}

void tell_at_death() {
  if (!has_told) tell_thread();
}

}  // namespace

void name_threads_in_sanitizer_reports() {
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(&tell_at_death);
}

}  // namespace recto::simt

// UBSan calls this for each report, whether the program continues or not.
extern "C" void __ubsan_on_report() {
  recto::simt::has_told = true;
  recto::simt::tell_thread();
}
