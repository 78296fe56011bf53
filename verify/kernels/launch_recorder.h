#pragma once

// Records which kernels were launched, on which grids, so that tests can check the choices.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "verify/kernels/device_call.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/observer.h"

namespace recto::verify {

struct RecordedLaunch {
  std::string kernel;
  simt::Dim3 grid;
  std::size_t dynamic_shared_bytes = 0;
};

class LaunchRecorder final : public simt::Observer {
 public:
  explicit LaunchRecorder(std::vector<RecordedLaunch>& launches) : launches_(launches) {}

  void begin_launch(simt::Launch& launch) override {
    const simt::LaunchConfig& config = launch.config;
    launches_.push_back({config.kernel, config.grid, config.dynamic_shared_bytes});
  }
  void access(std::uintptr_t, simt::AccessShape, std::uintptr_t) override {}

 private:
  std::vector<RecordedLaunch>& launches_;
};

// `launches` must outlive the calls.
inline KernelRun recorded_run(std::vector<RecordedLaunch>& launches) {
  return {.executor = {}, .observer = [&launches](const simt::DeviceMemory&) {
            return std::make_shared<LaunchRecorder>(launches);
          }};
}

// Format: "split_decode 1x2x3, split_merge 1x2x1"; contents checks are left out.
inline std::string text_of(const std::vector<RecordedLaunch>& launches) {
  std::string text;
  for (const RecordedLaunch& launch : launches) {
    if (launch.kernel == "contents_check") continue;
    const simt::Dim3& grid = launch.grid;
    text += fmt::format("{}{} {}x{}x{}", text.empty() ? "" : ", ", launch.kernel, grid.x, grid.y,
                        grid.z);
  }
  return text;
}

}  // namespace recto::verify
