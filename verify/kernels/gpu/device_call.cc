// A call whose kernels run on the GPU. All memory is managed, so nothing is registered, and there
// is no observer.

#include "verify/kernels/device_call.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/contract.h"
#include "verify/kernels/gpu/launches.h"
#include "verify/kernels/gpu/managed_memory.h"

namespace recto::verify {
namespace {

struct Gpu {
  std::optional<std::string> why_none = {};
  bool is_hopper = false;
};

Gpu asked_here() {
  const char* why = gpu::why_no_gpu();
  if (why != nullptr) return {.why_none = why};
  return {.is_hopper = gpu::is_hopper()};
}

// A byte, which says whether it is a Hopper card, and why there is no GPU.
std::string as_text(const Gpu& gpu) {
  return (gpu.is_hopper ? "H" : "-") + gpu.why_none.value_or("");
}

// Asks in a child process: a process that has used CUDA cannot fork children that use it.
Gpu asked_elsewhere() {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return {std::string("no pipe to another process: ") + std::strerror(errno)};
  const pid_t asked = fork();
  if (asked == 0) {
    const std::string text = as_text(asked_here());
    _exit(write(ends[1], text.data(), text.size()) > 0 ? 0 : 1);
  }
  close(ends[1]);
  char text[256];
  const ssize_t length = asked < 0 ? -1 : read(ends[0], text, sizeof text);
  close(ends[0]);
  int ended = 0;
  while (asked > 0 && waitpid(asked, &ended, 0) < 0 && errno == EINTR) {
  }
  if (length < 1 || ended != 0) return {"another process could not query it"};
  if (length > 1) return {std::string(text + 1, static_cast<std::size_t>(length - 1))};
  return {.is_hopper = text[0] == 'H'};
}

Gpu this_gpu() {
  if (gpu::is_heap_managed()) return asked_here();
  static const Gpu kGpu = asked_elsewhere();
  return kGpu;
}

}  // namespace

bool runs_on_gpu() { return true; }
bool runs_on_hopper() { return this_gpu().is_hopper; }
std::optional<std::string> why_no_gpu() { return this_gpu().why_none; }

BlockOwners owners_in_turn(std::int64_t /*thread_blocks*/, std::int64_t /*owners*/) { return {}; }
BlockOwners owners_in_runs(std::int64_t /*blocks_of_each*/, std::int64_t /*owners*/) { return {}; }

void DeviceCall::add_read(const std::string& /*name*/, const RowsView& /*rows*/) {}
void DeviceCall::add_read(const std::string& /*name*/, const PagedKvView& /*kv*/,
                          std::span<const std::vector<std::int64_t>> /*blocks*/,
                          BlockOwners /*owners*/) {}
void DeviceCall::add_read(const std::string& /*name*/, const BlockTableView& /*table*/) {}
void DeviceCall::add_read(const std::string& /*name*/, const void* /*data*/,
                          std::int64_t /*bytes*/) {}
void DeviceCall::add_contexts(const PagedKvView& /*kv*/, const BlockTableView& /*table*/,
                              std::span<const std::int32_t> /*context_length*/,
                              BlockOwners /*sequences*/) {}
void DeviceCall::add_write(const std::string& /*name*/, const MutableRowsView& /*rows*/) {}
void DeviceCall::add_write(const MutablePagedKvView& /*kv*/,
                           std::span<const std::vector<std::int64_t>> /*blocks*/,
                           BlockOwners /*owners*/) {}
void DeviceCall::add_write(const std::string& /*name*/, void* /*data*/, std::int64_t /*bytes*/,
                           simt::BufferUse /*use*/) {}
void DeviceCall::add_update(const std::string& /*name*/, const MutableRowsView& /*rows*/) {}

void DeviceCall::run(const ObserverMaker& /*make_observer*/,
                     const std::function<Status(simt::Stream& stream)>& launch) {
  simt::Stream stream(executor_);
  const Status launched = launch(stream);
  if (!launched.is_ok()) {
    internal::fail_condition(__FILE__, __LINE__, "the launch is served", launched.message());
  }
}

}  // namespace recto::verify
