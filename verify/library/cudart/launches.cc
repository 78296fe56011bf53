// Launches, as host code makes them, and what it asks about kernels.

#include <algorithm>
#include <cstring>
#include <utility>

#include "verify/library/cudart/device.h"

namespace recto::cudart {
namespace {

constexpr int kCooperativeAttribute = 2;
constexpr int kClusterAttribute = 4;
constexpr int kDynamicSharedBytesMax = 8;  // of cudaFuncAttribute
constexpr std::size_t kSharedBytesMax = std::size_t{227} << 10;
constexpr int kThreadsOfMultiprocessor = 2048;
constexpr int kBlocksOfMultiprocessor = 32;

ptx::Dim3 dim_of(const CudaDim3& dim) { return {dim.x, dim.y, dim.z}; }

LaunchRequest request_of(const CudaDim3& grid, const CudaDim3& block, std::size_t shared_bytes) {
  return {.shape = {dim_of(grid), dim_of(block), shared_bytes}};
}

CudaError launch(const void* host, const LaunchRequest& request, void** arguments, void* stream) {
  return Device::instance().launch(host, request, arguments, stream_of(stream));
}

CudaError attributes_of(CudaFuncAttributes* attributes, const void* host) {
  Device& device = Device::instance();
  RegisteredKernel* const kernel = device.kernel(host);
  if (kernel == nullptr) return device.last_error();
  const ptx::Program& program = kernel->decoded->program();
  *attributes = {.shared_bytes = program.shared_bytes - ptx::kSharedBegin,
                 .constant_bytes = 0,
                 .local_bytes = program.local_bytes,
                 .threads_max = program.threads_max == 0 ? 1024 : int(program.threads_max),
                 .num_registers = 32,
                 .ptx_version = device.modules().target(),
                 .binary_version = device.modules().target(),
                 .cache_mode = 0,
                 .dynamic_shared_bytes_max = static_cast<int>(kernel->dynamic_shared_bytes_max)};
  return cudaSuccess;
}

CudaError set_attribute(const void* host, int attribute, int value) {
  Device& device = Device::instance();
  RegisteredKernel* const kernel = device.kernel(host);
  if (kernel == nullptr) return device.last_error();
  if (attribute != kDynamicSharedBytesMax) return cudaSuccess;
  const std::size_t fixed = kernel->decoded->program().shared_bytes - ptx::kSharedBegin;
  const auto bytes = static_cast<std::size_t>(value);
  if (value < 0 || bytes + fixed > kSharedBytesMax) return device.fail(cudaErrorInvalidValue);
  kernel->dynamic_shared_bytes_max = bytes;
  return cudaSuccess;
}

CudaError blocks_of(int* blocks, const void* host, int threads, std::size_t shared_bytes) {
  CudaFuncAttributes attributes;
  if (const CudaError error = attributes_of(&attributes, host); error != cudaSuccess) return error;
  const std::size_t each = attributes.shared_bytes + shared_bytes;
  *blocks = threads < 1 ? 0 : std::min(kThreadsOfMultiprocessor / threads, kBlocksOfMultiprocessor);
  if (each > 0) *blocks = std::min(*blocks, static_cast<int>(kSharedBytesMax / each));
  return cudaSuccess;
}

CudaError launch_with(const CudaLaunchConfig& config, const void* host, void** arguments) {
  LaunchRequest request = request_of(config.grid, config.block, config.dynamic_shared_bytes);
  for (unsigned i = 0; i < config.num_attributes; ++i) {
    const CudaLaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == kCooperativeAttribute) {
      request.is_cooperative = attribute.value.cooperative != 0;
    }
    if (attribute.id == kClusterAttribute) {
      request.shape.cluster = dim_of(attribute.value.cluster);
    }
  }
  return launch(host, request, arguments, config.stream);
}

}  // namespace
}  // namespace recto::cudart

using namespace recto::cudart;

// NOLINTBEGIN: NVIDIA's names and parameters
extern "C" {

unsigned __cudaPushCallConfiguration(CudaDim3 grid, CudaDim3 block, std::size_t shared_bytes,
                                     void* stream) {
  Device::instance().announced().push_back(
      {request_of(grid, block, shared_bytes), stream_of(stream)});
  return 0;
}

CudaError __cudaPopCallConfiguration(CudaDim3* grid, CudaDim3* block, std::size_t* shared_bytes,
                                     void* stream) {
  auto& announced = Device::instance().announced();
  if (announced.empty()) return cudaErrorInvalidConfiguration;
  const auto [request, host_stream] = announced.back();
  announced.pop_back();
  *grid = {request.shape.grid.x, request.shape.grid.y, request.shape.grid.z};
  *block = {request.shape.block.x, request.shape.block.y, request.shape.block.z};
  *shared_bytes = request.shape.dynamic_shared_bytes;
  std::memcpy(stream, &host_stream, sizeof(host_stream));
  return cudaSuccess;
}

// A kernel's handle is the address that host code has for it.
CudaError __cudaGetKernel(const void** handle, const void* host) {
  *handle = host;
  return cudaSuccess;
}

CudaError __cudaLaunchKernel(const void* handle, CudaDim3 grid, CudaDim3 block, void** arguments,
                             std::size_t shared_bytes, void* stream) {
  return launch(handle, request_of(grid, block, shared_bytes), arguments, stream);
}

CudaError cudaLaunchKernel(const void* host, CudaDim3 grid, CudaDim3 block, void** arguments,
                           std::size_t shared_bytes, void* stream) {
  return launch(host, request_of(grid, block, shared_bytes), arguments, stream);
}

CudaError cudaLaunchCooperativeKernel(const void* host, CudaDim3 grid, CudaDim3 block,
                                      void** arguments, std::size_t shared_bytes, void* stream) {
  LaunchRequest request = request_of(grid, block, shared_bytes);
  request.is_cooperative = true;
  return launch(host, request, arguments, stream);
}

CudaError cudaLaunchKernelExC(const CudaLaunchConfig* config, const void* host, void** arguments) {
  return launch_with(*config, host, arguments);
}

CudaError cudaFuncGetAttributes(CudaFuncAttributes* attributes, const void* host) {
  return attributes_of(attributes, host);
}

CudaError cudaFuncSetAttribute(const void* host, int attribute, int value) {
  return set_attribute(host, attribute, value);
}

CudaError cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads,
                                                        std::size_t shared_bytes) {
  return blocks_of(blocks, host, threads, shared_bytes);
}

CudaError cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host,
                                                                 int threads,
                                                                 std::size_t shared_bytes,
                                                                 unsigned /*flags*/) {
  return blocks_of(blocks, host, threads, shared_bytes);
}

}  // extern "C"
// NOLINTEND
