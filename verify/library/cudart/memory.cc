// Memory, as host code asks for it. Host and device have one: each side can read the other's.

#include <cstring>

#include "verify/library/cudart/device.h"

namespace recto::cudart {
namespace {

constexpr std::size_t kReportedBytes = std::size_t{80} << 30;  // as an H100 has

Device& device() { return Device::instance(); }

CudaError allocate(void** memory, std::size_t bytes, const char* name) {
  *memory = bytes == 0 ? nullptr : device().allocate(bytes, name);
  if (bytes == 0 || *memory != nullptr) return cudaSuccess;
  return device().fail(cudaErrorMemoryAllocation);
}

// Waits for the device, as CUDA does.
CudaError release(void* memory) {
  device().runtime().finish_all();
  if (memory == nullptr || device().free(memory)) return cudaSuccess;
  return device().fail(cudaErrorInvalidValue);
}

CudaError waited(HostStream* stream) {
  device().stream_of(stream).synchronise();
  return device().has_findings() ? device().fail(cudaErrorLaunchFailure) : cudaSuccess;
}

// The address of bytes of a module's variable; null, with CUDA's error, if they are not all in it.
void* variable_at(const void* variable, std::size_t offset, std::size_t bytes) {
  const Result<ptx::Buffer> found = device().modules().variable(variable);
  if (!found.is_ok()) return device().fail(cudaErrorInvalidSymbol), nullptr;
  const bool is_inside = offset <= found.value().bytes && bytes <= found.value().bytes - offset;
  if (!is_inside) return device().fail(cudaErrorInvalidValue), nullptr;
  return reinterpret_cast<void*>(found.value().begin + offset);
}

}  // namespace
}  // namespace recto::cudart

using namespace recto::cudart;

// NOLINTBEGIN: NVIDIA's names and parameters
extern "C" {

CudaError cudaMalloc(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, "cudaMalloc");
}
CudaError cudaMallocManaged(void** memory, std::size_t bytes, unsigned /*flags*/) {
  return allocate(memory, bytes, "cudaMallocManaged");
}
CudaError cudaMallocAsync(void** memory, std::size_t bytes, void* /*stream*/) {
  return allocate(memory, bytes, "cudaMallocAsync");
}
CudaError cudaMallocHost(void** memory, std::size_t bytes) {
  return allocate(memory, bytes, "cudaMallocHost");
}
CudaError cudaHostAlloc(void** memory, std::size_t bytes, unsigned /*flags*/) {
  return allocate(memory, bytes, "cudaHostAlloc");
}
CudaError cudaFree(void* memory) { return release(memory); }
CudaError cudaFreeHost(void* memory) { return release(memory); }
CudaError cudaFreeAsync(void* memory, void* stream) {
  device().enqueue(
      "cudaFreeAsync", [memory] { device().free(memory); }, stream_of(stream));
  return cudaSuccess;
}

CudaError cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, CudaCopyKind kind,
                          void* stream) {
  device().copy(to, from, bytes, kind, stream_of(stream));
  return cudaSuccess;
}
CudaError cudaMemcpy(void* to, const void* from, std::size_t bytes, CudaCopyKind kind) {
  device().copy(to, from, bytes, kind, nullptr);
  return waited(nullptr);
}
CudaError cudaMemsetAsync(void* memory, int byte, std::size_t bytes, void* stream) {
  device().fill(memory, byte, bytes, stream_of(stream));
  return cudaSuccess;
}
CudaError cudaMemset(void* memory, int byte, std::size_t bytes) {
  device().fill(memory, byte, bytes, nullptr);
  return waited(nullptr);
}

CudaError cudaMemcpyToSymbol(const void* variable, const void* from, std::size_t bytes,
                             std::size_t offset, CudaCopyKind kind) {
  void* const to = variable_at(variable, offset, bytes);
  if (to == nullptr) return device().last_error();
  device().copy(to, from, bytes, kind, nullptr);
  return waited(nullptr);
}
CudaError cudaMemcpyToSymbolAsync(const void* variable, const void* from, std::size_t bytes,
                                  std::size_t offset, CudaCopyKind kind, void* stream) {
  void* const to = variable_at(variable, offset, bytes);
  if (to == nullptr) return device().last_error();
  device().copy(to, from, bytes, kind, stream_of(stream));
  return cudaSuccess;
}
CudaError cudaGetSymbolAddress(void** address, const void* variable) {
  *address = variable_at(variable, 0, 0);
  return *address == nullptr ? device().last_error() : cudaSuccess;
}
CudaError cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = kReportedBytes;
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND
