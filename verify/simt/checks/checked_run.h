#pragma once

// Launches of kernels under the checks, for tests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/checks/access_checker.h"
#include "verify/simt/executor/executor.h"

namespace recto::simt {

// Memory, checks and an executor that belong together.
class CheckedRun {
 public:
  explicit CheckedRun(const Schedule& schedule = {}, const AccessCheckerOptions& options = {})
      : checker_(memory_, options), executor_({.schedule = schedule}) {
    executor_.set_observer(&checker_);
  }

  // A registered buffer of `count` elements, initially zeros, that lives as long as this object.
  template <typename T>
  T* buffer(const char* name, std::size_t count, BufferUse use) {
    // The gaps around it belong to no buffer.
    storage_.push_back(std::vector<std::byte>(count * sizeof(T) + 2 * kGapBytes));
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.back().data()) + kGapBytes;
    auto* data = reinterpret_cast<T*>(address / kGapBytes * kGapBytes);
    CHECK(memory_.add({name, reinterpret_cast<std::byte*>(data), count * sizeof(T), use}).is_ok());
    return data;
  }

  template <typename... Parameters>
  LaunchReport run(const LaunchConfig& config, void (*kernel)(Parameters...),
                   std::type_identity_t<Parameters>... arguments) {
    return launch(executor_, config, kernel, arguments...);
  }

  DeviceMemory& memory() { return memory_; }
  AccessChecker& checker() { return checker_; }
  Executor& executor() { return executor_; }

 private:
  static constexpr std::size_t kGapBytes = 256;

  DeviceMemory memory_;
  AccessChecker checker_;
  Executor executor_;
  std::vector<std::vector<std::byte>> storage_;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Checks that the report has a finding of this kind whose text contains all of these parts.
inline void check_among(const LaunchReport& report, Check check,
                        const std::vector<std::string>& parts) {
  bool is_there = false;
  for (const Finding& finding : report.findings) {
    bool has_all = finding.check == check;
    for (const std::string& part : parts) has_all = has_all && contains(finding.text(), part);
    is_there = is_there || has_all;
  }
  INFO("of " << check_name(check) << ", with " << (parts.empty() ? "" : parts[0]));
  INFO(report.text());
  CHECK(is_there);
}

// Also checks that there is no other finding.
inline void check_finding(const LaunchReport& report, Check check,
                          const std::vector<std::string>& parts) {
  check_among(report, check, parts);
  CHECK(report.findings.size() == 1);
}

inline void check_nothing(const LaunchReport& report) { CHECK(report.text() == ""); }

}  // namespace recto::simt
