#include "verify/library/cuda_source/recto_cuda_adapter.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "verify/library/cuda_source/call_buffers.h"
#include "verify/library/cuda_source/call_memory.h"
#include "verify/library/cudart/device.h"

namespace recto {
namespace {

// What host code allocates through a framework, to be freed after the run; null outside of one.
thread_local std::vector<void*>* memory_of_call = nullptr;

void write_message(const RectoCallContext& call, const std::string& text) {
  std::snprintf(call.message, static_cast<std::size_t>(call.message_bytes), "%s", text.c_str());
}

// The findings of a run of the launches, or an empty string.
std::string faults_of(CallBuffers& buffers, const cudart::RunOptions& options,
                      const std::function<void()>& launches) {
  simt::DeviceMemory known;
  if (const Status added = buffers.add_to(known); !added.is_ok()) return added.message();
  cudart::Device& device = cudart::Device::instance();
  device.begin_run(known, options);
  std::vector<void*> own;
  memory_of_call = &own;
  std::string found;
  try {
    launches();
  } catch (const std::exception& error) {
    found = error.what();
  }
  memory_of_call = nullptr;
  // The executor's own report is more detailed than an exception made from it.
  const std::string report = device.end_run();
  if (!report.empty()) found = report;
  for (void* memory : own) device.free(memory);
  return found;
}

}  // namespace

void* allocate_in_call(const std::string& name, std::size_t bytes) {
  if (memory_of_call == nullptr) {
    throw std::runtime_error(name + ": expected to be within CheckedCall::run()");
  }
  if (bytes == 0) return nullptr;
  memory_of_call->push_back(cudart::Device::instance().allocate(bytes, name));
  return memory_of_call->back();
}

std::int32_t unsupported(const RectoCallContext& call, const std::string& why) {
  write_message(call, why);
  return kRectoUnsupported;
}

CheckedCall::CheckedCall(const RectoAttentionCall& call)
    : context_(call.context), buffers_(std::make_unique<CallBuffers>(call)) {}

CheckedCall::CheckedCall(const RectoKvWriteCall& call)
    : context_(call.context), buffers_(std::make_unique<CallBuffers>(call)) {}

CheckedCall::~CheckedCall() = default;

void CheckedCall::set_sequence_of_thread_block(std::vector<std::uint32_t> sequences) {
  buffers_->set_sequence_of_thread_block(std::move(sequences));
}

void* CheckedCall::add_workspace(const std::string& name, std::int64_t bytes, Initially contents) {
  return buffers_->add_workspace(name, bytes,
                                 contents == Initially::kZeros
                                     ? CallBuffers::Initially::kZeros
                                     : CallBuffers::Initially::kUnwritten);
}

void CheckedCall::blocks_communicate(const void* data) { buffers_->blocks_communicate(data); }

std::string CheckedCall::find_faults(const std::function<void()>& launches) {
  ptx::Checks checks = ptx::Checks::all();
  checks.uninitialised_memory = uninitialised_reads_ == UninitialisedReads::kAreFaults;
  cudart::RunOptions options = {.launch = {.checks = checks}};
  options.launch.allows_equal_stores = common_stores_ == CommonStores::kAreEqual;
  const std::string found = faults_of(*buffers_, options, launches);
  if (!found.empty()) return found;
  std::vector<std::vector<std::byte>> first;
  for (const CallBuffers::Kept& result : buffers_->results()) {
    first.emplace_back(result.data, result.data + result.before.size());
    std::memcpy(result.data, result.before.data(), result.before.size());
  }
  // Any warp and any lane may be next; asynchronous copies, with an odd seed, and streams are late.
  options.launch.schedule = {.policy = simt::SchedulePolicy::kRandomThread, .seed = 1};
  options.order = simt::HostOrder::kLate;
  const std::string found_at_random = faults_of(*buffers_, options, launches);
  if (!found_at_random.empty() || dependence_ == ScheduleDependence::kIsMeant) {
    return found_at_random;
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    const CallBuffers::Kept& result = buffers_->results()[i];
    if (std::memcmp(first[i].data(), result.data, first[i].size()) != 0) {
      return result.name + " depends on the schedule: other bits in random order";
    }
  }
  return {};
}

std::int32_t CheckedCall::run(const std::function<void()>& launches) {
  const std::string found = find_faults(launches);
  if (found.empty()) return kRectoOk;
  // The message may hold only the beginning.
  if (std::ssize(found) >= context_.message_bytes) std::fprintf(stderr, "%s\n", found.c_str());
  write_message(context_, found);
  return kRectoFailed;
}

}  // namespace recto
