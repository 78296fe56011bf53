#pragma once

// Canaries: tiny kernels with one fault each, and the same kernels without it. What the executor
// reports for them in each mode shows what that mode can detect.

#include <cstddef>
#include <cstdint>
#include <span>

#include "verify/simt/executor/device_memory.h"
#include "verify/simt/streams/stream.h"

namespace recto::simt {

enum class Fault : std::uint8_t { kNone, kPlanted };

// The memory of a canary, with fixed contents, and two streams, which run unordered operations
// newest first.
class CanaryBench {
 public:
  virtual ~CanaryBench() = default;

  // Read-only memory holds 0.5, 1.5, 2.5 ...; memory to be written first holds NaN; the rest zeros.
  virtual float* floats(const char* name, std::size_t count, BufferUse use) = 0;
  // Holds 0, 1, 2 ... or zeros.
  virtual int* ints(const char* name, std::size_t count, BufferUse use) = 0;
  // Zeros. May be so large that it has real memory only where it is touched.
  virtual std::byte* sparse(const char* name, std::size_t bytes) = 0;

  // Thread block b may touch only those pieces of `data` whose number is b modulo `owners`.
  virtual void divide(const void* data, std::size_t piece_bytes, unsigned owners) = 0;
  // This memory is not addressed: it holds NaN, and no output may depend on it.
  virtual void leave_unaddressed(float* data, std::size_t count) = 0;

  virtual Stream* stream() = 0;
  virtual Stream* other_stream() = 0;
};

struct Canary {
  const char* name;
  const char* fault;  // description of the fault
  void (*run)(CanaryBench& bench, Fault fault);
};

// Faults in how threads wait for each other.
std::span<const Canary> barrier_canaries();
// Faults in how threads access memory.
std::span<const Canary> memory_canaries();
// Faults in asynchronous copies, and on streams.
std::span<const Canary> copy_canaries();

}  // namespace recto::simt
