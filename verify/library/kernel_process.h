#pragma once

// Our handle to the process that runs a kernel library: starts it, calls it, waits up to a limit,
// and restarts it once it has ended. Nothing that the library does can end our process.

#include <cstdint>
#include <memory>
#include <string>

#include "core/status.h"
#include "verify/library/kernel_device.h"
#include "verify/library/kernel_peer.h"

namespace recto::verify {

class KernelProcess final : public KernelPeer {
 public:
  // `path` must be absolute; `device` must outlive the object and is null if there is none. Failed
  // if the system provides no memory.
  static Result<std::unique_ptr<KernelProcess>> create(const std::string& path,
                                                       KernelDevice* device = nullptr);
  ~KernelProcess() override;

  // Ends a running process and starts one that loads the library.
  Result<KernelAnswer> start(const LoadLimits& limits) override;
  bool is_running() const override { return process_ > 0; }
  void stop() override;

 private:
  KernelProcess(const std::string& path, KernelDevice* device) : path_(path), device_(device) {}

  Status set_up_output();
  void go_on();
  KernelAnswer make_call(std::int64_t time_limit_ms) override;
  KernelAnswer wait(std::int64_t cpu_before_ms, std::int64_t time_limit_ms);
  KernelAnswer ended(KernelEnd end);
  std::string take_printed();

  std::string path_;
  KernelDevice* device_;
  int printed_ = -1;  // file
  int channel_ = -1;
  int process_ = -1;
};

}  // namespace recto::verify
