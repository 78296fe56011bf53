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

// Asks in a child process: a process that has used CUDA cannot fork children that use it.
std::optional<std::string> asked_elsewhere() {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return std::string("no pipe to another process: ") + std::strerror(errno);
  const pid_t asked = fork();
  if (asked == 0) {
    const char* const why = gpu::why_no_gpu();
    const bool is_told = why == nullptr || write(ends[1], why, std::strlen(why)) >= 0;
    _exit(is_told ? 0 : 1);
  }
  close(ends[1]);
  char words[256];
  const ssize_t length = asked < 0 ? -1 : read(ends[0], words, sizeof words);
  close(ends[0]);
  int ended = 0;
  while (asked > 0 && waitpid(asked, &ended, 0) < 0 && errno == EINTR) {
  }
  if (length < 0 || ended != 0) return "another process could not query it";
  if (length == 0) return std::nullopt;
  return std::string(words, static_cast<std::size_t>(length));
}

}  // namespace

bool runs_on_gpu() { return true; }

std::optional<std::string> why_no_gpu() {
  if (gpu::is_heap_managed()) {
    const char* why = gpu::why_no_gpu();
    return why == nullptr ? std::nullopt : std::optional<std::string>(why);
  }
  static const std::optional<std::string> kWhy = asked_elsewhere();
  return kWhy;
}

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
