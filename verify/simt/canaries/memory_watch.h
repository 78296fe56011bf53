#pragma once

// Watches a canary's memory in the mode for which the program is built: not at all, with the checks
// of observed accesses, or with shadow memory. (AddressSanitizer works by itself.)

#include <cstddef>
#include <optional>

#include "verify/simt/executor/device_memory.h"
#include "verify/simt/executor/executor.h"

namespace recto::simt {

class MemoryWatch {
 public:
  // Watches the executor's launches from now on.
  explicit MemoryWatch(Executor& executor);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  void add(Buffer buffer);
  // The added buffers; null if this mode does not keep them.
  const DeviceMemory* memory() const;
  // The same as CanaryBench::divide.
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
