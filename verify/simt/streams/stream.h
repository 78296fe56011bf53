#pragma once

// CUDA's streams, events and graphs, on a HostRuntime.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/status.h"
#include "verify/simt/streams/host_runtime.h"

namespace recto::simt {

class Stream;

// Operations with their order, recorded once and run many times: kernel arguments passed by value
// stay as recorded, memory is read anew at each run.
class Graph {
 public:
  Graph() = default;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  std::size_t size() const { return nodes_.size(); }

 private:
  friend class Stream;
  friend struct StreamCapture;

  struct Node {
    std::vector<OperationId> after;  // nodes of the graph, from 1
    DeviceWork work;
  };
  std::vector<Node> nodes_;
  const HostRuntime* runtime_ = nullptr;  // of the streams that recorded it
  // Its last operations in the runtime, except for replays that are part of a capture.
  std::vector<OperationId> last_replay_;
};

// A capture, which several streams may record together.
struct StreamCapture {
  Graph graph;
  std::vector<Stream*> streams;  // the first one began it
  bool is_spoilt = false;        // the host waited for one of them
  bool is_over = false;
};

// A point in a stream's order. Before it is recorded, waiting for it waits for nothing.
class Event {
 public:
  // The host waits for the event. The runtime must still exist. Both functions return invalid input
  // if the event was recorded in a capture, and spoil that capture.
  Status synchronise() const;
  // Whether the event has passed, without waiting. Repeated calls eventually return true.
  Result<bool> has_passed() const;

 private:
  friend class Stream;

  Status check_uncaptured() const;

  HostRuntime* runtime_ = nullptr;          // whose operation it is
  OperationId operation_ = 0;               // a node, if it is part of a capture
  std::shared_ptr<StreamCapture> capture_;  // or null
};

// Operations of one stream run in the order in which they were enqueued.
class Stream {
 public:
  // The runtime must outlive it.
  explicit Stream(HostRuntime& runtime) : runtime_(&runtime) {}
  // Creates a runtime of its own, in which everything runs immediately.
  explicit Stream(Executor& executor);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // False if the launch itself is invalid, as with CUDA's cudaErrorInvalidConfiguration.
  template <typename... Parameters>
  bool launch(const LaunchConfig& config, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) {
    const auto bound = bind_kernel<Parameters...>(kernel, arguments...);
    return enqueue_launch(config, call_of(bound, kernel), sizeof bound);
  }

  // The operation reads and writes the bytes when it runs. The memory must exist until then.
  void copy(void* destination, const void* source, std::size_t bytes);
  void fill(void* destination, int byte, std::size_t bytes);
  // Any other work, such as a kernel of another executor.
  void enqueue(DeviceWork work);

  void record(Event& event);
  // Invalid input: the event and this stream belong to different runtimes or different captures, or
  // only one of them to a capture; or the event's capture is over, and the event is part of a
  // graph.
  Status wait(const Event& event);

  // Runs everything enqueued so far on this stream, and everything that it depends on. Returns the
  // findings of all launches of the runtime so far. During a capture it runs nothing, and spoils
  // the capture.
  const LaunchReport& synchronise();

  // From now on, operations of this stream, and of streams that wait for events recorded in it, are
  // recorded and not run, until the end of the capture. Invalid input: the stream is already in a
  // capture.
  Status begin_capture();
  // Invalid input: this stream did not begin a capture, work of another stream that joined the
  // capture has not been waited for, or the host has waited during the capture. The capture ends
  // even then.
  Status end_capture(Graph& graph);
  // Runs the graph after all earlier replays of it, on whatever streams. Invalid input: the graph
  // was recorded in another runtime.
  Status replay(Graph& graph);

 private:
  // Copies the arguments, which have that many bytes.
  bool enqueue_launch(const LaunchConfig& config, const KernelCall& call, std::size_t bytes);

  std::unique_ptr<HostRuntime> own_runtime_;
  HostRuntime* runtime_;
  std::vector<OperationId> after_;           // the next operation comes after these
  std::shared_ptr<StreamCapture> capture_;   // or null
  std::vector<OperationId> before_capture_;  // `after_` when the capture began
};

}  // namespace recto::simt
