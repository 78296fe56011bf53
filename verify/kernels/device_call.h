#pragma once

// A call of kernels on the executor, over memory of the caller as it is: nothing is copied. What
// the kernels may touch is registered under the names that findings are told by.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"
#include "verify/problems/stale_memory.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/memory/device_memory.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {

// Makes who is to observe the kernels of one call, such as the checks of memory.
using ObserverMaker =
    std::function<std::shared_ptr<simt::Observer>(const simt::DeviceMemory& memory)>;

// How kernels are run.
struct KernelRun {
  simt::ExecutorOptions executor = {};
  ObserverMaker observer = {};  // nobody, if empty
  // What results and workspaces hold before a call, over and over.
  std::uint32_t stale_memory = kStaleNaN;
};

// Whether kernels run on a GPU, where executor options have no say.
bool runs_on_gpu();

// Why kernels do not run on a GPU: this is another build, or the machine has none. Nothing where
// they do.
std::optional<std::string> why_no_gpu();

// For each thread block of a launch, in the order of x, y, z, on whose behalf it works.
using BlockOwners = std::vector<std::uint32_t>;

// 0, 1, .., owners - 1, 0, 1, ..: of grids with the owner as their x.
BlockOwners owners_in_turn(std::int64_t thread_blocks, std::int64_t owners);
// 0, .., 0, 1, .., 1, ..: of grids with the owner as their z.
BlockOwners owners_in_runs(std::int64_t blocks_of_each, std::int64_t owners);

class DeviceCall {
 public:
  // `executor` must outlive it.
  explicit DeviceCall(simt::Executor& executor) : executor_(executor) {}

  // Memory that kernels may read; of such, ranges may overlap. Without elements, nothing is
  // registered.
  template <typename T>
  void add_read(const std::string& name, std::span<const T> values) {
    add_read(name, values.data(), static_cast<std::int64_t>(values.size_bytes()));
  }
  void add_read(const std::string& name, const RowsView& rows);
  void add_read(const std::string& name, const BlockTableView& table);

  // The contexts of sequences, by way of their tables: each thread block may touch its own
  // sequence's blocks and no others.
  void add_contexts(const PagedKvView& kv, const BlockTableView& table,
                    std::span<const std::int32_t> context_length, BlockOwners sequences);

  // A cache of which a thread block with owner i may read blocks[i] and no others.
  void add_read(const std::string& name, const PagedKvView& kv,
                std::span<const std::vector<std::int64_t>> blocks, BlockOwners owners);

  // Memory that kernels write before they may read it.
  template <typename T>
  void add_write(const std::string& name, std::span<T> values) {
    add_write(name, values.data(), static_cast<std::int64_t>(values.size_bytes()),
              simt::BufferUse::kWriteFirst);
  }
  void add_write(const std::string& name, const MutableRowsView& rows);

  // Rows that are read, and written in their places.
  void add_update(const std::string& name, const MutableRowsView& rows);

  // A cache of which parts are written; the rest keeps what it holds. A thread block with owner i
  // may touch the cache's blocks[i] and no others.
  void add_write(const MutablePagedKvView& kv, std::span<const std::vector<std::int64_t>> blocks,
                 BlockOwners owners);

  // Calls launch(stream). A launch that is refused, and anything that is found in the kernels,
  // breaks a contract: there is no result then.
  void run(const ObserverMaker& make_observer,
           const std::function<Status(simt::Stream& stream)>& launch);

  // What is registered, once run() has been called.
  const simt::DeviceMemory& memory() const { return memory_; }

 private:
  void add_read(const std::string& name, const void* data, std::int64_t bytes);
  void add_write(const std::string& name, void* data, std::int64_t bytes, simt::BufferUse use);
  static void add_pool(std::vector<simt::Buffer>& buffers, const std::string& name,
                       const KvTensorView& pool, simt::BufferUse use,
                       simt::LogicalBounds bounds);  // but for their piece_bytes
  void register_merged(std::vector<simt::Buffer>& buffers);

  simt::Executor& executor_;
  std::vector<simt::Buffer> reads_;
  std::vector<simt::Buffer> pools_;  // that are written
  simt::DeviceMemory memory_;
};

}  // namespace recto::verify
