// Streams, events and graphs of host code: those of verify/simt/streams.

#include <memory>

#include "verify/library/cudart/device.h"

namespace recto::cudart {
namespace {

constexpr unsigned kNonBlocking = 1;  // of cudaStreamCreateWithFlags

Device& device() { return Device::instance(); }

// A graph, or an executable one: both are the recorded operations.
struct HostGraph {
  std::uint64_t run = device().run();
  std::shared_ptr<simt::Graph> graph = std::make_shared<simt::Graph>();
};

HostEvent& event_of(void* handle) { return *static_cast<HostEvent*>(handle); }
HostGraph& graph_of(void* handle) { return *static_cast<HostGraph*>(handle); }

CudaError create_stream(void** stream, unsigned flags) {
  *stream = device().create_stream(flags == kNonBlocking ? StreamKind::kNonBlocking
                                                         : StreamKind::kBlocking);
  return cudaSuccess;
}

// Findings of kernels reach the host as CUDA's errors do, when it waits.
CudaError waited() {
  return device().has_findings() ? device().fail(cudaErrorLaunchFailure) : cudaSuccess;
}

CudaError in_capture(const Status& status) {
  return status.is_ok() ? cudaSuccess : device().fail(cudaErrorStreamCaptureInvalidated);
}

// The default stream has a handle only here.
HostStream* captured(void* handle, bool is_captured) {
  HostStream* const stream = stream_of(handle);
  if (stream != nullptr) stream->is_captured = is_captured;
  return stream;
}

}  // namespace
}  // namespace recto::cudart

using namespace recto::cudart;

// NOLINTBEGIN: NVIDIA's names and parameters
extern "C" {

CudaError cudaStreamCreate(void** stream) { return create_stream(stream, 0); }
CudaError cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return create_stream(stream, flags);
}
CudaError cudaStreamCreateWithPriority(void** stream, unsigned flags, int /*priority*/) {
  return create_stream(stream, flags);
}
CudaError cudaStreamDestroy(void* stream) {
  if (stream_of(stream) == nullptr) return device().fail(cudaErrorInvalidHandle);
  device().destroy_stream(stream_of(stream));
  return cudaSuccess;
}
CudaError cudaStreamSynchronize(void* stream) {
  device().stream_of(stream_of(stream)).synchronise();
  return waited();
}
CudaError cudaDeviceSynchronize() {
  device().runtime().finish_all();
  return waited();
}
CudaError cudaStreamWaitEvent(void* stream, void* event, unsigned /*flags*/) {
  HostEvent& waited_for = event_of(event);
  if (waited_for.is_captured) captured(stream, true);
  const auto status = device().stream_of(stream_of(stream)).wait(device().event_of(waited_for));
  return status.is_ok() ? cudaSuccess : device().fail(cudaErrorInvalidHandle);
}

CudaError cudaEventCreateWithFlags(void** event, unsigned /*flags*/) {
  *event = new HostEvent();
  return cudaSuccess;
}
CudaError cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }
CudaError cudaEventDestroy(void* event) {
  delete &event_of(event);
  return cudaSuccess;
}
CudaError cudaEventRecord(void* event, void* stream) {
  HostStream* const recorded = stream_of(stream);
  event_of(event).is_captured = recorded != nullptr && recorded->is_captured;
  device().stream_of(recorded).record(device().event_of(event_of(event)));
  return cudaSuccess;
}
CudaError cudaEventSynchronize(void* event) {
  const auto status = device().event_of(event_of(event)).synchronise();
  return status.is_ok() ? waited() : in_capture(status);
}
CudaError cudaEventQuery(void* event) {
  const auto passed = device().event_of(event_of(event)).has_passed();
  if (!passed.is_ok()) return in_capture(passed.status());
  return passed.value() ? waited() : cudaErrorNotReady;
}
// Time does not pass on this device.
CudaError cudaEventElapsedTime(float* milliseconds, void* /*begin*/, void* /*end*/) {
  *milliseconds = 0;
  return cudaSuccess;
}

CudaError cudaStreamBeginCapture(void* stream, int /*mode*/) {
  return in_capture(device().stream_of(captured(stream, true)).begin_capture());
}
CudaError cudaStreamEndCapture(void* stream, void** graph) {
  auto recorded = std::make_unique<HostGraph>();
  const auto status = device().stream_of(stream_of(stream)).end_capture(*recorded->graph);
  device().end_captures();
  *graph = status.is_ok() ? recorded.release() : nullptr;
  return in_capture(status);
}
CudaError cudaStreamIsCapturing(void* stream, int* status) {
  *status = stream_of(stream) != nullptr && stream_of(stream)->is_captured ? 1 : 0;
  return cudaSuccess;
}
CudaError cudaGraphInstantiate(void** executable, void* graph, unsigned long long /*flags*/) {
  *executable = new HostGraph(graph_of(graph));
  return cudaSuccess;
}
CudaError cudaGraphGetNodes(void* graph, void** /*nodes*/, std::size_t* count) {
  *count = graph_of(graph).graph->size();
  return cudaSuccess;
}
CudaError cudaGraphLaunch(void* executable, void* stream) {
  HostGraph& recorded = graph_of(executable);
  if (recorded.run != device().run()) return device().fail(cudaErrorInvalidValue);
  const auto status = device().stream_of(stream_of(stream)).replay(*recorded.graph);
  return status.is_ok() ? cudaSuccess : device().fail(cudaErrorInvalidValue);
}
CudaError cudaGraphDestroy(void* graph) {
  delete &graph_of(graph);
  return cudaSuccess;
}
CudaError cudaGraphExecDestroy(void* executable) { return cudaGraphDestroy(executable); }

}  // extern "C"
// NOLINTEND
