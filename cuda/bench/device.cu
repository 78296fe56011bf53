#include "cuda/bench/device.h"

#include <kernel_dialect.h>

#include <algorithm>

#include "cuda/kernels/kv_scale.cuh"

namespace recto::bench {
namespace {

Status status_of(cudaError_t error) {
  return error == cudaSuccess ? Status::ok() : Status::failed(cudaGetErrorString(error));
}

// 13010 becomes "13.1".
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The finaliser of SplitMix64 (Steele et al., 2014).
__device__ inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

template <typename Element>
__global__ void fill(Element* elements, std::int64_t count, std::uint64_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const auto bits = static_cast<std::uint32_t>(mixed(seed + i * 0x9e3779b97f4a7c15U) >> 40);
    elements[i] = kernels::quantise<Element>(static_cast<float>(bits) * 0x1p-23F - 1.0F, 1.0F);
  }
}

template <typename Element>
void fill_as(const DeviceBytes& memory, std::uint64_t seed) {
  constexpr int kThreads = 256;
  constexpr int kThreadBlocks = 4096;
  fill<<<kThreadBlocks, kThreads>>>(static_cast<Element*>(memory.data()),
                                    memory.bytes() / static_cast<std::int64_t>(sizeof(Element)),
                                    seed);
}

}  // namespace

std::string why_no_gpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return count == 0 ? "no device" : "";
}

Result<Card> card() {
  cudaDeviceProp properties;
  RECTO_RETURN_IF_ERROR(status_of(cudaGetDeviceProperties(&properties, 0)));
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  RECTO_RETURN_IF_ERROR(status_of(cudaMemGetInfo(&free_bytes, &all_bytes)));
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int driver = 0;
  int runtime = 0;
  RECTO_RETURN_IF_ERROR(status_of(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0)));
  RECTO_RETURN_IF_ERROR(
      status_of(cudaDeviceGetAttribute(&memory_clock_khz, cudaDevAttrMemoryClockRate, 0)));
  RECTO_RETURN_IF_ERROR(status_of(cudaDriverGetVersion(&driver)));
  RECTO_RETURN_IF_ERROR(status_of(cudaRuntimeGetVersion(&runtime)));
  return Card{.name = properties.name,
              .num_multiprocessors = properties.multiProcessorCount,
              .l2_bytes = properties.l2CacheSize,
              .memory_bytes = static_cast<std::int64_t>(all_bytes),
              .free_bytes = static_cast<std::int64_t>(free_bytes),
              .clock_khz_max = clock_khz,
              .memory_clock_khz_max = memory_clock_khz,
              .compute_capability =
                  std::to_string(properties.major) + "." + std::to_string(properties.minor),
              .driver_cuda = version_text(driver),
              .runtime_cuda = version_text(runtime)};
}

DeviceBytes::DeviceBytes(std::int64_t bytes) : bytes_(bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  if (cudaMalloc(&data_, size) != cudaSuccess) {
    cudaGetLastError();
    data_ = nullptr;
  }
}

DeviceBytes::~DeviceBytes() { cudaFree(data_); }

HostBytes::HostBytes(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  if (cudaHostAlloc(&data_, size, cudaHostAllocDefault) != cudaSuccess) {
    cudaGetLastError();
    data_ = nullptr;
  }
}

HostBytes::~HostBytes() { cudaFreeHost(data_); }

Status too_little_memory(std::int64_t wanted_bytes) {
  const Result<Card> here = card();
  RECTO_RETURN_IF_ERROR(here.status());
  return Status::exhausted("needs " + std::to_string(wanted_bytes >> 20) +
                           " MiB of the card's memory; " +
                           std::to_string(here.value().free_bytes >> 20) + " MiB are free");
}

void fill_random(const DeviceBytes& memory, ElementType type, std::uint64_t seed) {
  switch (type) {
    case ElementType::kFp32:
      return fill_as<float>(memory, seed);
    case ElementType::kFp16:
      return fill_as<__half>(memory, seed);
    case ElementType::kBf16:
      return fill_as<__nv_bfloat16>(memory, seed);
    case ElementType::kE4m3:
      return fill_as<__nv_fp8_e4m3>(memory, seed);
    case ElementType::kE5m2:
      return fill_as<__nv_fp8_e5m2>(memory, seed);
  }
}

Status upload(const DeviceBytes& memory, const void* host, std::int64_t bytes) {
  return status_of(
      cudaMemcpy(memory.data(), host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice));
}

struct ColdTimer::Events {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
};

// Twice the L2 size of any card.
ColdTimer::ColdTimer()
    : events_(new Events), flushed_(std::int64_t{256} << 20), status_(make_events()) {}

Status ColdTimer::make_events() const {
  if (flushed_.data() == nullptr) return too_little_memory(flushed_.bytes());
  RECTO_RETURN_IF_ERROR(status_of(cudaEventCreate(&events_->begin)));
  return status_of(cudaEventCreate(&events_->end));
}

ColdTimer::~ColdTimer() {
  for (const cudaEvent_t event : {events_->begin, events_->end})
    if (event != nullptr) cudaEventDestroy(event);
  delete events_;
}

Result<double> ColdTimer::seconds_of(const std::function<Status()>& launch) const {
  RECTO_RETURN_IF_ERROR(status_);
  RECTO_RETURN_IF_ERROR(
      status_of(cudaMemsetAsync(flushed_.data(), 1, static_cast<std::size_t>(flushed_.bytes()))));
  RECTO_RETURN_IF_ERROR(status_of(cudaEventRecord(events_->begin)));
  RECTO_RETURN_IF_ERROR(launch());
  RECTO_RETURN_IF_ERROR(status_of(cudaEventRecord(events_->end)));
  RECTO_RETURN_IF_ERROR(status_of(cudaEventSynchronize(events_->end)));
  float milliseconds = 0;
  RECTO_RETURN_IF_ERROR(
      status_of(cudaEventElapsedTime(&milliseconds, events_->begin, events_->end)));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace recto::bench
