#include "verify/simt/streams/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace recto::simt {

namespace {

// Whether each of `ends` comes before, or is, one of `last` in the graph's order.
template <typename Nodes>
bool is_joined(const Nodes& nodes, const std::vector<OperationId>& last,
               const std::vector<OperationId>& ends) {
  std::vector<bool> is_before(nodes.size() + 1);
  std::vector<OperationId> to_visit = last;
  while (!to_visit.empty()) {
    const OperationId node = to_visit.back();
    to_visit.pop_back();
    if (is_before[node]) continue;
    is_before[node] = true;
    to_visit.insert(to_visit.end(), nodes[node - 1].after.begin(), nodes[node - 1].after.end());
  }
  return std::ranges::all_of(ends, [&is_before](OperationId node) { return is_before[node]; });
}

TouchedRange range_of(const void* data, std::size_t bytes, AccessKind kind) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  return {begin, begin + bytes, kind};
}

Finding null_pointer(const char* operation, const TouchedRange& range) {
  return {.check = Check::kOutOfBounds,
          .what = fmt::format("{} {} {} bytes of a null pointer", operation,
                              access_verb(range.kind), range.end - range.begin)};
}

// Notifies the observer of kernels that something else touches their memory. False if it must not.
bool may_touch(HostRuntime& runtime, const char* operation,
               const std::vector<TouchedRange>& ranges) {
  for (const TouchedRange& range : ranges) {
    if (range.begin != 0 || range.end == 0) continue;
    runtime.report().findings.push_back(null_pointer(operation, range));
    return false;
  }
  Observer* observer = runtime.executor().observer();
  if (observer == nullptr) return true;
  for (const TouchedRange& range : ranges) {
    if (range.begin == range.end) continue;
    std::optional<Finding> wrong = observer->touch_by_host(operation, range);
    if (!wrong) continue;
    runtime.report().findings.push_back(*std::move(wrong));
    return false;
  }
  return true;
}

}  // namespace

Status Event::check_uncaptured() const {
  if (capture_ == nullptr) return Status::ok();
  capture_->is_spoilt = true;
  return Status::invalid_input("event: expected one that was not recorded in a capture");
}

Status Event::synchronise() const {
  RECTO_RETURN_IF_ERROR(check_uncaptured());
  if (operation_ != 0) runtime_->finish(operation_);
  return Status::ok();
}

Result<bool> Event::has_passed() const {
  RECTO_RETURN_IF_ERROR(check_uncaptured());
  return operation_ == 0 || runtime_->has_passed(operation_);
}

// With a single stream, no dependency can be missing.
Stream::Stream(Executor& executor)
    : own_runtime_(
          std::make_unique<HostRuntime>(executor, HostOptions{.checks_dependencies = false})),
      runtime_(own_runtime_.get()) {}

void Stream::enqueue(DeviceWork work) {
  if (capture_ == nullptr) {
    after_ = {runtime_->enqueue(std::move(after_), std::move(work))};
    return;
  }
  capture_->graph.nodes_.push_back({std::move(after_), std::move(work)});
  after_ = {capture_->graph.nodes_.size()};
}

bool Stream::enqueue_launch(const LaunchConfig& config, const KernelCall& call, std::size_t bytes) {
  if (std::optional<Finding> invalid = why_invalid(config, call)) {
    runtime_->report().findings.push_back(*std::move(invalid));
    return false;
  }
  std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
  std::memcpy(copy.get(), call.arguments, bytes);
  LaunchConfig with = config;
  with.tells_touched = runtime_->checks_dependencies();
  enqueue({fmt::format("kernel '{}'", config.kernel),
           [runtime = runtime_, with, call = call.call, copy] {
             LaunchReport report = runtime->executor().launch(with, {call, copy.get()});
             LaunchReport& whole = runtime->report();
             std::ranges::move(report.findings, std::back_inserter(whole.findings));
             whole.switches += report.switches;
             whole.proxy_fences += report.proxy_fences;
             return std::move(report.touched);
           },
           config.site});
  return true;
}

void Stream::copy(void* destination, const void* source, std::size_t bytes) {
  enqueue({"copy", [=, runtime = runtime_]() -> std::vector<TouchedRange> {
             std::vector<TouchedRange> touched = {range_of(source, bytes, AccessKind::kRead),
                                                  range_of(destination, bytes, AccessKind::kWrite)};
             if (!may_touch(*runtime, "copy", touched)) return {};
             if (bytes > 0) std::memmove(destination, source, bytes);
             return touched;
           }});
}

void Stream::fill(void* destination, int byte, std::size_t bytes) {
  enqueue({"fill", [=, runtime = runtime_]() -> std::vector<TouchedRange> {
             std::vector<TouchedRange> touched = {range_of(destination, bytes, AccessKind::kWrite)};
             if (!may_touch(*runtime, "fill", touched)) return {};
             if (bytes > 0) std::memset(destination, byte, bytes);
             return touched;
           }});
}

void Stream::record(Event& event) {
  // Makes one operation the point of reference, also if several or none lead to it.
  if (after_.size() != 1) enqueue({"event", [] { return std::vector<TouchedRange>(); }});
  event.runtime_ = runtime_;
  event.operation_ = after_.front();
  event.capture_ = capture_;
}

Status Stream::wait(const Event& event) {
  if (event.operation_ == 0) return Status::ok();
  if (event.runtime_ != runtime_) {
    return Status::invalid_input(
        "event: expected one that a stream of the same runtime has recorded");
  }
  if (event.capture_ != nullptr && event.capture_->is_over) {
    return Status::invalid_input(
        "event: expected one whose capture is not over, or that was recorded again");
  }
  if (event.capture_ != nullptr && capture_ == nullptr) {
    capture_ = event.capture_;
    capture_->streams.push_back(this);
    before_capture_ = std::exchange(after_, {});
  }
  if (event.capture_ != capture_) {
    return Status::invalid_input(
        "event: expected one of the same capture as the stream that waits for it");
  }
  after_.push_back(event.operation_);
  return Status::ok();
}

const LaunchReport& Stream::synchronise() {
  if (capture_ != nullptr) {
    // The last operations are nodes of a graph, which do not run.
    capture_->is_spoilt = true;
    return runtime_->report();
  }
  for (const OperationId operation : after_) runtime_->finish(operation);
  return runtime_->report();
}

Status Stream::begin_capture() {
  if (capture_ != nullptr) {
    return Status::invalid_input("capture: expected a stream that is not being captured");
  }
  capture_ = std::make_shared<StreamCapture>();
  capture_->streams = {this};
  before_capture_ = std::exchange(after_, {});
  return Status::ok();
}

Status Stream::end_capture(Graph& graph) {
  if (capture_ == nullptr || capture_->streams.front() != this) {
    return Status::invalid_input("capture: expected the stream that began it");
  }
  const std::shared_ptr<StreamCapture> capture = capture_;
  capture->is_over = true;
  bool all_joined = true;
  for (Stream* stream : capture->streams) {
    all_joined = all_joined && is_joined(capture->graph.nodes_, after_, stream->after_);
  }
  for (Stream* stream : capture->streams) {
    stream->capture_ = nullptr;
    stream->after_ = std::move(stream->before_capture_);
  }
  if (capture->is_spoilt) {
    return Status::invalid_input("capture: expected no host wait for its streams");
  }
  if (!all_joined) {
    return Status::invalid_input(
        "capture: expected the stream that began it to wait for the work of all its streams");
  }
  graph = std::move(capture->graph);
  graph.runtime_ = runtime_;
  return Status::ok();
}

Status Stream::replay(Graph& graph) {
  if (graph.nodes_.empty()) return Status::ok();
  if (graph.runtime_ != runtime_) {
    return Status::invalid_input("graph: expected one that streams of the same runtime recorded");
  }
  std::vector<OperationId> operation_of;
  std::vector<bool> is_last(graph.nodes_.size(), true);
  std::vector<OperationId> before = after_;
  if (capture_ == nullptr) {
    before.insert(before.end(), graph.last_replay_.begin(), graph.last_replay_.end());
  }
  for (const Graph::Node& node : graph.nodes_) {
    after_ = node.after.empty() ? before : std::vector<OperationId>();
    for (const OperationId earlier : node.after) {
      after_.push_back(operation_of[earlier - 1]);
      is_last[earlier - 1] = false;
    }
    enqueue(node.work);
    operation_of.push_back(after_.front());
  }
  after_.clear();
  for (std::size_t i = 0; i < operation_of.size(); ++i) {
    if (is_last[i]) after_.push_back(operation_of[i]);
  }
  if (capture_ == nullptr) graph.last_replay_ = after_;
  return Status::ok();
}

}  // namespace recto::simt
