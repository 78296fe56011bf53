#pragma once

// Device functions for benchmarks. An error of CUDA ends a benchmark with CUDA's message.

#include <cstdint>
#include <functional>
#include <string>

#include "core/element_type.h"
#include "core/status.h"

namespace recto::bench {

// The reason why there is no GPU to measure on; empty if there is one.
std::string why_no_gpu();

// The exit code of a program without a GPU.
inline constexpr int kNoGpuExitCode = 3;

struct Card {
  std::string name;
  std::int64_t num_multiprocessors = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;
  std::int64_t clock_khz_max = 0;
  std::int64_t memory_clock_khz_max = 0;
  std::string compute_capability;  // 9.0
  std::string driver_cuda;         // the newest CUDA that the driver knows, 13.0
  std::string runtime_cuda;        // that of this program
};
Result<Card> card();

// Device memory, aligned to 256 bytes; null if there is too little.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::int64_t bytes);
  ~DeviceBytes();
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_;
};

// Pinned host memory, which the device accesses at the same address; null if there is too little.
class HostBytes {
 public:
  explicit HostBytes(std::int64_t bytes);
  ~HostBytes();
  HostBytes(const HostBytes&) = delete;
  HostBytes& operator=(const HostBytes&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Exhausted; or failed, with CUDA's message, if an earlier error is the reason.
Status too_little_memory(std::int64_t wanted_bytes);

// Fills memory with numbers in (-1, 1) that depend only on the seed.
void fill_random(const DeviceBytes& memory, ElementType type, std::uint64_t seed);
Status upload(const DeviceBytes& memory, const void* host, std::int64_t bytes);

// Measures launches between two events, after overwriting all of L2.
class ColdTimer {
 public:
  ColdTimer();
  ~ColdTimer();
  ColdTimer(const ColdTimer&) = delete;
  ColdTimer& operator=(const ColdTimer&) = delete;

  // `launch` only launches, on the default stream. Fails with CUDA's message, also if the timer
  // could not be created.
  Result<double> seconds_of(const std::function<Status()>& launch) const;

 private:
  struct Events;
  Status make_events() const;

  Events* events_;
  DeviceBytes flushed_;
  Status status_;
};

}  // namespace recto::bench
