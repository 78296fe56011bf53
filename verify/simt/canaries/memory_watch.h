#pragma once

// What watches the memory of a canary in the mode for which the program is built: nothing, the
// checks of observed accesses, or shadow memory. (AddressSanitizer watches by itself.)

#include <cstddef>
#include <optional>

#include "verify/simt/executor/device_memory.h"
#include "verify/simt/executor/executor.h"

namespace recto::simt {

class MemoryWatch {
 public:
  // From now on the executor's launches are watched.
  explicit MemoryWatch(Executor& executor);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  void add(Buffer buffer);
  // The buffers that were added, if they are kept; else null.
  const DeviceMemory* memory() const;
  // As CanaryBench::divide.
  void divide(const void* data, std::size_t piece_bytes, unsigned owners);
  void taint(void* data, std::size_t bytes);
  // The first byte that was computed from tainted memory; nothing if none was.
  std::optional<std::size_t> first_tainted(const void* data, std::size_t bytes) const;

  // Whether threads can be preempted at accesses.
  static bool observes_accesses();

 private:
  struct Watcher;
  Watcher* watcher_;
};

}  // namespace recto::simt
