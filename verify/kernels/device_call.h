#pragma once

// A call of kernels on the executor, in place on the caller's memory: nothing is copied. The memory
// that kernels may access is registered under the names used in findings.

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
#include "verify/cases/poison.h"
#include "verify/simt/executor/device_memory.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {

// Creates the observer of the kernels of one call, such as the memory checks.
using ObserverMaker =
    std::function<std::shared_ptr<simt::Observer>(const simt::DeviceMemory& memory)>;

// How kernels are run.
struct KernelRun {
  simt::ExecutorOptions executor = {};
  ObserverMaker observer = {};  // none if empty
};

// Whether kernels run on a GPU, where executor options have no effect.
bool runs_on_gpu();

// Whether they run on a Hopper card, on which usual calls of prefill have another kernel.
bool runs_on_hopper();

// Why kernels do not run on a GPU: this is another build, or the machine has no GPU. Nothing if
// they do.
std::optional<std::string> why_no_gpu();

// The owner of each thread block of a launch, such as a sequence, in the order of x, y, z.
using BlockOwners = std::vector<std::uint32_t>;

// 0, 1, .., owners - 1, 0, 1, ..: for grids with the owner in x.
BlockOwners owners_in_turn(std::int64_t thread_blocks, std::int64_t owners);
// 0, .., 0, 1, .., 1, ..: for grids with the owner in z.
BlockOwners owners_in_runs(std::int64_t blocks_of_each, std::int64_t owners);

class DeviceCall {
 public:
  // `executor` must outlive this object.
  explicit DeviceCall(simt::Executor& executor) : executor_(executor) {}

  // Memory that kernels may read; ranges may overlap. Registers nothing if there are no elements.
  template <typename T>
  void add_read(const std::string& name, std::span<const T> values) {
    add_read(name, values.data(), static_cast<std::int64_t>(values.size_bytes()));
  }
  void add_read(const std::string& name, const RowsView& rows);
  void add_read(const std::string& name, const BlockTableView& table);

  // The contexts of sequences, through their block tables: each thread block may access only the
  // blocks of its own sequence.
  void add_contexts(const PagedKvView& kv, const BlockTableView& table,
                    std::span<const std::int32_t> context_length, BlockOwners sequences);

  // A cache of which a thread block with owner i may read only blocks[i].
  void add_read(const std::string& name, const PagedKvView& kv,
                std::span<const std::vector<std::int64_t>> blocks, BlockOwners owners);

  // Memory that kernels must write before they may read it.
  template <typename T>
  void add_write(const std::string& name, std::span<T> values) {
    add_write(name, values.data(), static_cast<std::int64_t>(values.size_bytes()),
              simt::BufferUse::kWriteFirst);
  }
  void add_write(const std::string& name, const MutableRowsView& rows);

  // Rows that are read and written in place.
  void add_update(const std::string& name, const MutableRowsView& rows);

  // A cache that is partly written; the rest keeps its contents. A thread block with owner i may
  // access only blocks[i] of the cache.
  void add_write(const MutablePagedKvView& kv, std::span<const std::vector<std::int64_t>> blocks,
                 BlockOwners owners);

  // Calls launch(stream). A refused launch, or any finding in the kernels, breaks a contract.
  void run(const ObserverMaker& make_observer,
           const std::function<Status(simt::Stream& stream)>& launch);

  // The registered memory; call after run().
  const simt::DeviceMemory& memory() const { return memory_; }

 private:
  void add_read(const std::string& name, const void* data, std::int64_t bytes);
  void add_write(const std::string& name, void* data, std::int64_t bytes, simt::BufferUse use);
  static void add_pool(std::vector<simt::Buffer>& buffers, const std::string& name,
                       const KvTensorView& pool, simt::BufferUse use,
                       simt::LogicalBounds bounds);  // except piece_bytes
  void register_merged(std::vector<simt::Buffer>& buffers);

  simt::Executor& executor_;
  std::vector<simt::Buffer> reads_;
  std::vector<simt::Buffer> pools_;  // pools that are written
  simt::DeviceMemory memory_;
};

}  // namespace recto::verify
