#pragma once

// What benchmarks need of a device. Errors of CUDA's end a benchmark by its own words.

#include <cstdint>
#include <functional>
#include <string>

#include "core/element_type.h"
#include "core/status.h"

namespace recto::bench {

// Why there is no GPU to measure on; empty if there is one.
std::string why_no_gpu();

// What a program ends with where there is none.
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

// Bytes of the device, at a multiple of 256; null if there are not so many.
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

// Pinned memory of the host, which the device reaches at the same address; null likewise.
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

// Exhausted; or failed, in CUDA's words, where an error of before is why nothing is given.
Status too_little_memory(std::int64_t wanted_bytes);

// Numbers in (-1, 1), the same for one seed.
void fill_random(const DeviceBytes& memory, ElementType type, std::uint64_t seed);
Status upload(const DeviceBytes& memory, const void* host, std::int64_t bytes);

// Between two events around the launches, all of L2 written before the first one.
class ColdTimer {
 public:
  ColdTimer();
  ~ColdTimer();
  ColdTimer(const ColdTimer&) = delete;
  ColdTimer& operator=(const ColdTimer&) = delete;

  // `launch` only launches, on the default stream. Fails in CUDA's words, also for what could not
  // be made for it.
  Result<double> seconds_of(const std::function<Status()>& launch) const;

 private:
  struct Events;
  Status make_events() const;

  Events* events_;
  DeviceBytes flushed_;
  Status status_;
};

}  // namespace recto::bench
