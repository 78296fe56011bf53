#include "verify/library/cudart/device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/contract.h"
#include "verify/ptx/readable_names.h"

namespace recto::cudart {
namespace {

constexpr std::size_t kAllocationAlignment = 256;  // as cudaMalloc's
constexpr int kUnwritten = 0xff;                   // NaN in every type, -1 in integers
constexpr std::size_t kFindingsMax = 16;
constexpr std::uint64_t kThreadsMax = 1024;

std::uintptr_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

ptx::BufferAccess access_of(simt::BufferUse use) {
  switch (use) {
    case simt::BufferUse::kReadOnly:
      return ptx::BufferAccess::kReadOnly;
    case simt::BufferUse::kReadWrite:
      return ptx::BufferAccess::kReadWrite;
    case simt::BufferUse::kWriteFirst:
      return ptx::BufferAccess::kWriteFirst;
  }
  RECTO_UNREACHABLE("all uses are listed");
}

ptx::Buffer buffer_of(const simt::Buffer& buffer) {
  ptx::Buffer same = {.name = buffer.name,
                      .begin = address_of(buffer.data),
                      .bytes = buffer.bytes,
                      .access = access_of(buffer.use),
                      .blocks_communicate = buffer.blocks_communicate};
  if (buffer.logical_bounds)
    same.logical_bounds = std::make_shared<const simt::LogicalBounds>(*buffer.logical_bounds);
  return same;
}

}  // namespace

void Device::Freed::operator()(void* memory) const { std::free(memory); }

Device& Device::instance() {
  static Device device;
  return device;
}

Device::Device() : executor_({}) {}

void Device::begin_run(const simt::DeviceMemory& memory, const RunOptions& options) {
  options_ = options;
  findings_.clear();
  announced_.clear();
  last_error_ = cudaSuccess;
  ptx::DeviceMemory all;
  names_ = memory;
  for (const auto& [address, buffer] : memory.buffers()) all.add(buffer_of(buffer));
  for (const auto& [data, owner] : allocated_) {
    if (const ptx::Buffer* buffer = memory_.find(address_of(data))) all.add(*buffer);
  }
  memory_ = std::move(all);
  ++run_;
  runtime_ = std::make_unique<simt::HostRuntime>(
      executor_,
      simt::HostOptions{.order = options.order, .seed = options.seed, .memory = &names_});
}

std::string Device::end_run() {
  runtime().finish_all();
  std::string text;
  for (const std::string& finding : findings_) text += finding + "\n";
  return text + runtime().report().text();
}

simt::HostRuntime& Device::runtime() {
  // Host code may use the device before the first run, in constructors of static objects.
  if (runtime_ == nullptr) begin_run({}, {});
  return *runtime_;
}

void Device::add_finding(const std::string& text) {
  const bool is_known = std::ranges::find(findings_, text) != findings_.end();
  if (findings_.size() < kFindingsMax && !is_known) findings_.push_back(text);
}

CudaError Device::take_last_error() { return std::exchange(last_error_, cudaSuccess); }

CudaError Device::fail(CudaError error) {
  if (error != cudaSuccess) last_error_ = error;
  return error;
}

RegisteredKernel* Device::kernel(const void* host) {
  const Result<RegisteredKernel*> found = modules_.kernel(host);
  if (found.is_ok()) return found.value();
  add_finding(found.status().message());
  last_error_ = cudaErrorInvalidDeviceFunction;
  return nullptr;
}

CudaError Device::launch(const void* host, const LaunchRequest& request, void** arguments,
                         HostStream* stream) {
  RegisteredKernel* const called = kernel(host);
  if (called == nullptr) return last_error_;
  const ptx::Program& program = called->decoded->program();
  std::vector<std::byte> parameters(program.parameter_bytes);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const ptx::NamedPiece& piece = program.parameters[i];
    std::memcpy(parameters.data() + piece.begin, arguments[i], piece.bytes);
  }
  return launch(*called, request, std::move(parameters), stream);
}

CudaError Device::launch(RegisteredKernel& kernel, const LaunchRequest& request,
                         std::vector<std::byte> parameters, HostStream* stream) {
  const ptx::LaunchShape& shape = request.shape;
  const std::string name = "invalid launch of kernel '" + ptx::readable_names(kernel.name) + "': ";
  if (shape.dynamic_shared_bytes > kernel.dynamic_shared_bytes_max) {
    add_finding(name + "it asks for " + std::to_string(shape.dynamic_shared_bytes) +
                " bytes of dynamic shared memory, and cudaFuncSetAttribute allows " +
                std::to_string(kernel.dynamic_shared_bytes_max));
    return fail(cudaErrorInvalidValue);
  }
  if (shape.grid.count() == 0 || shape.block.count() == 0 || shape.block.count() > kThreadsMax) {
    add_finding(name + "its grid is " + shape.grid.text() + ", its thread block " +
                shape.block.text());
    return fail(cudaErrorInvalidConfiguration);
  }
  stream_of(stream).enqueue({"kernel '" + ptx::readable_names(kernel.name) + "'",
                             [this, &kernel, request, parameters = std::move(parameters)] {
                               run_kernel(kernel, request, parameters);
                               return std::vector<simt::TouchedRange>();
                             },
                             {}});
  return cudaSuccess;
}

void Device::run_kernel(const RegisteredKernel& kernel, const LaunchRequest& request,
                        const std::vector<std::byte>& parameters) {
  ptx::LaunchOptions options = options_.launch;
  options.is_cooperative = request.is_cooperative;
  const ptx::LaunchReport report =
      ptx::launch(*kernel.decoded, request.shape, ptx::Arguments(parameters), memory_, options);
  std::fwrite(report.printed.data(), 1, report.printed.size(), stdout);
  for (const ptx::Finding& finding : report.findings) {
    add_finding(ptx::readable_names(finding.text()));
  }
  for (std::size_t i = 0; i + sizeof(std::uintptr_t) <= parameters.size(); i += 4) {
    std::uintptr_t address = 0;
    std::memcpy(&address, parameters.data() + i, sizeof(address));
    count_as_written(address);
  }
}

void Device::count_as_written(std::uintptr_t address) {
  const ptx::Buffer* const found = memory_.find(address);
  if (found == nullptr || found->access != ptx::BufferAccess::kWriteFirst) return;
  ptx::Buffer written = *found;
  written.access = ptx::BufferAccess::kReadWrite;
  memory_.add(std::move(written));
}

void* Device::allocate(std::size_t bytes, const std::string& name) {
  const std::size_t whole = (bytes / kAllocationAlignment + 1) * kAllocationAlignment;
  void* const memory = std::aligned_alloc(kAllocationAlignment, whole);
  if (memory == nullptr) return nullptr;
  std::memset(memory, kUnwritten, whole);
  allocated_[memory].reset(memory);
  memory_.add(name + " " + std::to_string(++allocations_), memory, bytes,
              ptx::BufferAccess::kWriteFirst);
  return memory;
}

bool Device::free(void* memory) {
  const auto found = allocated_.find(memory);
  if (found == allocated_.end()) return false;
  memory_.remove(memory);
  allocated_.erase(found);
  return true;
}

bool Device::may_copy(const CopySide& side) {
  const std::uintptr_t address = address_of(side.data);
  const ptx::Buffer* buffer = memory_.find(address);
  bool is_variable = false;  // constants are read-only for kernels alone
  modules_.for_each_parsed([&](const ptx::Module& module) {
    if (buffer != nullptr) return;
    buffer = module.variables().find(address);
    is_variable = buffer != nullptr;
  });
  if (side.bytes == 0 || (buffer == nullptr && !side.is_of_device)) return true;
  const bool is_inside = buffer != nullptr && address + side.bytes <= buffer->end();
  const bool is_refused = side.is_written && is_inside && !is_variable &&
                          buffer->access == ptx::BufferAccess::kReadOnly;
  if (is_inside && !is_refused) return true;
  std::string where = memory_.text_of(address);
  if (!is_inside && buffer != nullptr) {
    where += ", which has " + std::to_string(buffer->bytes) + " bytes";
  }
  add_finding(std::string(is_refused ? "write to read-only memory" : "out of bounds") +
              " in the host program: a copy " + side.verb + " " + std::to_string(side.bytes) +
              " bytes of " + where);
  return false;
}

void Device::copy(void* to, const void* from, std::size_t bytes, CudaCopyKind kind,
                  HostStream* stream) {
  const CopySide written = {.verb = "writes",
                            .data = to,
                            .bytes = bytes,
                            .is_written = true,
                            .is_of_device = kind == kHostToDevice || kind == kDeviceToDevice};
  const CopySide read = {.verb = "reads",
                         .data = from,
                         .bytes = bytes,
                         .is_of_device = kind == kDeviceToHost || kind == kDeviceToDevice};
  if (!may_copy(written) || !may_copy(read)) return;
  stream_of(stream).copy(to, from, bytes);
  enqueue(
      "copy", [this, to] { count_as_written(address_of(to)); }, stream);
}

void Device::fill(void* to, int byte, std::size_t bytes, HostStream* stream) {
  const CopySide written = {
      .verb = "writes", .data = to, .bytes = bytes, .is_written = true, .is_of_device = true};
  if (!may_copy(written)) return;
  stream_of(stream).fill(to, byte, bytes);
  enqueue(
      "fill", [this, to] { count_as_written(address_of(to)); }, stream);
}

void Device::enqueue(const std::string& name, std::function<void()> work, HostStream* stream) {
  stream_of(stream).enqueue({name,
                             [work = std::move(work)] {
                               work();
                               return std::vector<simt::TouchedRange>();
                             },
                             {}});
}

simt::Stream& Device::stream_of(HostStream* stream) {
  simt::HostRuntime& runtime = this->runtime();
  const auto current = [&](HostStream& each) -> simt::Stream& {
    if (each.run != run_ || each.stream == nullptr) {
      each.stream = std::make_unique<simt::Stream>(runtime);
      each.run = run_;
    }
    return *each.stream;
  };
  simt::Stream& own = current(stream == nullptr ? default_stream_ : *stream);
  if (stream != nullptr && (stream->kind == StreamKind::kNonBlocking || stream->is_captured))
    return own;
  // The default stream waits for all blocking streams, and they for it, outside of captures.
  const auto wait_for = [&](HostStream& other) {
    simt::Event event;
    current(other).record(event);
    const Status ordered = own.wait(event);
    static_cast<void>(ordered);
  };
  if (stream != nullptr) {
    if (default_stream_.run == run_) wait_for(default_stream_);
    return own;
  }
  for (const std::unique_ptr<HostStream>& other : streams_) {
    const bool is_ordered = other->kind == StreamKind::kBlocking && !other->is_captured;
    if (is_ordered && other->run == run_) wait_for(*other);
  }
  return own;
}

simt::Event& Device::event_of(HostEvent& event) {
  runtime();
  if (event.run != run_) event.event = {};
  event.run = run_;
  return event.event;
}

void Device::end_captures() {
  for (const std::unique_ptr<HostStream>& stream : streams_) stream->is_captured = false;
  default_stream_.is_captured = false;
}

HostStream* Device::create_stream(StreamKind kind) {
  streams_.push_back(std::make_unique<HostStream>(HostStream{.kind = kind}));
  return streams_.back().get();
}

void Device::destroy_stream(HostStream* stream) {
  stream_of(stream).synchronise();
  std::erase_if(streams_, [stream](const auto& each) { return each.get() == stream; });
}

}  // namespace recto::cudart
