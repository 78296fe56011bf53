#pragma once

// The device that host code sees: registered kernels, memory, streams. Kernels run on the executor
// of verify/ptx, in orders that verify/simt/streams chooses.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "verify/library/cudart/cuda_api.h"
#include "verify/library/cudart/modules.h"
#include "verify/ptx/launch.h"
#include "verify/simt/executor/device_memory.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/host_runtime.h"
#include "verify/simt/streams/stream.h"

namespace recto::cudart {

struct RunOptions {
  ptx::LaunchOptions launch = {.checks = ptx::Checks::all()};
  simt::HostOrder order = simt::HostOrder::kEager;
  std::uint64_t seed = 0;
};

enum class StreamKind : std::uint8_t {
  kBlocking,  // ordered with the default stream
  kNonBlocking,
};

// A stream of host code. It outlives runs, and has no work between them.
struct HostStream {
  StreamKind kind = StreamKind::kBlocking;
  bool is_captured = false;
  std::uint64_t run = 0;  // of `stream`
  std::unique_ptr<simt::Stream> stream = {};
};

struct HostEvent {
  bool is_captured = false;
  std::uint64_t run = 0;
  simt::Event event = {};
};

struct LaunchRequest {
  ptx::LaunchShape shape = {};
  bool is_cooperative = false;
};

// What a handle of host code names; null: the default stream, whose handles are 0 to 2.
inline HostStream* stream_of(void* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  return number <= 2 ? nullptr : static_cast<HostStream*>(handle);
}

// Not thread-safe: one thread of host code at a time.
class Device {
 public:
  // The one that the functions of CUDA's runtime use.
  static Device& instance();

  Modules& modules() { return modules_; }
  // The kernel that host code passes. Null, with the error and a finding that has the reason, if
  // there is none, or its PTX cannot be run.
  RegisteredKernel* kernel(const void* host);

  // Begins a run of host code: kernels may touch `memory`, what host code allocates, and variables
  // of modules. Work and findings of the run before are forgotten.
  void begin_run(const simt::DeviceMemory& memory, const RunOptions& options);
  // Does all work that is left. Returns the findings of the run, a line each.
  std::string end_run();
  // The number of runs so far.
  std::uint64_t run() const { return run_; }

  // The next launch of a kernel, with its parameters as they lie in memory. If CUDA would refuse
  // it, returns its error, and the run has a finding.
  CudaError launch(RegisteredKernel& kernel, const LaunchRequest& request,
                   std::vector<std::byte> parameters, HostStream* stream);
  // The same for what host code passes to a launch: the addresses of the arguments.
  CudaError launch(const void* host, const LaunchRequest& request, void** arguments,
                   HostStream* stream);
  // A launch that host code announced with <<<>>>.
  std::vector<std::pair<LaunchRequest, HostStream*>>& announced() { return announced_; }

  // [bytes], aligned as CUDA does; it holds NaN and counts as unwritten. Null: out of memory.
  void* allocate(std::size_t bytes, const std::string& name);
  // False if nothing was allocated there.
  bool free(void* memory);
  const ptx::DeviceMemory& memory() const { return memory_; }

  void copy(void* to, const void* from, std::size_t bytes, CudaCopyKind kind, HostStream* stream);
  void fill(void* to, int byte, std::size_t bytes, HostStream* stream);
  // Work of a stream that touches no memory of kernels.
  void enqueue(const std::string& name, std::function<void()> work, HostStream* stream);

  // The stream of this run, ordered with the default stream where CUDA does so; null: the default
  // stream.
  simt::Stream& stream_of(HostStream* stream);
  simt::Event& event_of(HostEvent& event);
  void end_captures();
  HostStream* create_stream(StreamKind kind);
  void destroy_stream(HostStream* stream);
  simt::HostRuntime& runtime();

  void add_finding(const std::string& text);
  bool has_findings() const { return !findings_.empty(); }
  CudaError last_error() const { return last_error_; }
  CudaError take_last_error();
  CudaError fail(CudaError error);

 private:
  Device();

  void run_kernel(const RegisteredKernel& kernel, const LaunchRequest& request,
                  const std::vector<std::byte>& parameters);
  // From now on reads of the buffer, which kernels or copies may have written, are in order.
  void count_as_written(std::uintptr_t address);
  // One side of a copy. False, with a finding, if the bytes are not all in one buffer of the device
  // that may be touched so; memory of the host is not looked at.
  struct CopySide {
    const char* verb = "";
    const void* data = nullptr;
    std::size_t bytes = 0;
    bool is_written = false;
    bool is_of_device = false;
  };
  bool may_copy(const CopySide& side);

  struct Freed {
    void operator()(void* memory) const;
  };

  Modules modules_;
  RunOptions options_;
  ptx::DeviceMemory memory_;
  simt::DeviceMemory names_;  // of the memory of the run, for findings of streams
  std::map<void*, std::unique_ptr<void, Freed>> allocated_;
  std::uint64_t allocations_ = 0;
  simt::Executor executor_;
  std::unique_ptr<simt::HostRuntime> runtime_;
  std::uint64_t run_ = 0;
  HostStream default_stream_;
  std::vector<std::unique_ptr<HostStream>> streams_;
  std::vector<std::pair<LaunchRequest, HostStream*>> announced_;
  std::vector<std::string> findings_;
  CudaError last_error_ = cudaSuccess;
};

}  // namespace recto::cudart
