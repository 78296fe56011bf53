#pragma once

// Findings of a thread block.

#include <cstdint>
#include <string>

#include "verify/ptx/checks/race_checker.h"
#include "verify/ptx/machine/launch_run.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

// An access of a warp's lanes.
struct Access {
  const Step* step = nullptr;
  LaneMask lanes = 0;
  std::uint32_t bytes = 0;
  AccessKind kind = AccessKind::kRead;
  const char* verb = "reads";
  std::uint32_t operation = 0;  // of asynchronous kinds
};

class Reporter {
 public:
  explicit Reporter(LaunchRun& run) : run_(run) {}

  void begin(std::uint64_t block);
  const Dim3& block() const { return block_; }
  bool has_abandoned() const { return has_abandoned_; }

  ThreadPlace thread_place(std::uint32_t thread) const;
  Finding finding(Check check, std::uint32_t thread, const Step& step, std::string what) const;
  // An error after which the kernel goes on.
  void report(Finding finding) { run_.report(std::move(finding)); }
  void report_conflict(std::uint32_t thread, const Access& access, const Conflict& conflict,
                       const std::string& where);
  // Errors after which it cannot.
  void abandon(Check check, std::uint32_t thread, const Step& step, std::string what);
  void abandon(Finding finding);

 private:
  LaunchRun& run_;
  Dim3 block_;
  bool has_abandoned_ = false;
};

}  // namespace recto::ptx
