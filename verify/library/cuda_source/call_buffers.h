#pragma once

// The memory of a call by recto, as kernels may touch it.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "verify/library/recto_kernel.h"
#include "verify/simt/executor/device_memory.h"

namespace recto {

class CallBuffers {
 public:
  // What kernels write, and what it held before.
  struct Kept {
    std::string name;
    std::byte* data = nullptr;
    std::vector<std::byte> before;
  };
  enum class Initially : std::uint8_t { kUnwritten, kZeros };

  explicit CallBuffers(const RectoAttentionCall& call);
  explicit CallBuffers(const RectoKvWriteCall& call);

  // Memory for the kernels alone, [bytes], aligned to 256; null for none.
  void* add_workspace(const std::string& name, std::int64_t bytes, Initially contents);
  // Thread blocks communicate by the workspace, or the call's buffer, that begins at `data`.
  void blocks_communicate(const void* data);
  // For attention: the sequence of each thread block. By default, all may touch the blocks of all.
  void set_sequence_of_thread_block(std::vector<std::uint32_t> sequences) {
    sequence_of_thread_block_ = std::move(sequences);
  }

  // Fills the workspaces, and adds all memory to `known`. Invalid input: communication through
  // other memory, or owners that do not exist.
  Status add_to(simt::DeviceMemory& known);
  const std::vector<Kept>& results() const { return results_; }

 private:
  struct Workspace {
    simt::Buffer buffer;
    std::byte initially;
    std::vector<std::byte> room;
  };

  void add(const std::string& name, const void* data, std::int64_t bytes, simt::BufferUse use);
  template <typename T>
  void add_array(const std::string& name, const T* data, std::int64_t count) {
    add(name, data, count * std::int64_t{sizeof(T)}, simt::BufferUse::kReadOnly);
  }
  template <typename Tensor>
  void add_cache(const std::string& name, const Tensor& cache, simt::BufferUse use);
  void bound(const RectoKvTensor& cache);

  std::vector<simt::Buffer> buffers_;
  std::vector<Kept> results_;
  std::deque<Workspace> workspaces_;
  std::vector<const void*> communicating_;
  const RectoAttentionCall* attention_ = nullptr;
  std::vector<std::vector<bool>> blocks_of_sequences_;
  std::vector<std::uint32_t> sequence_of_thread_block_;
};

}  // namespace recto
