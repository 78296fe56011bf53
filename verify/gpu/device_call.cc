// A call whose kernels run on the GPU. All memory is managed, so that nothing is registered; nobody
// looks on.

#include "verify/device_call.h"

#include "core/contract.h"
#include "verify/gpu/launches.h"

namespace recto::verify {

bool runs_on_gpu() { return true; }

std::optional<std::string> why_no_gpu() {
  const char* why = gpu::why_no_gpu();
  return why == nullptr ? std::nullopt : std::optional<std::string>(why);
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
