#include "verify/library/cuda_source/recto_cuda_adapter.h"

#include <fmt/format.h>
#include <simt_foreign.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <span>
#include <utility>

#include "core/contract.h"
#include "core/units.h"
#include "verify/library/cuda_source/call_memory.h"
#include "verify/simt/checks/access_checker.h"
#include "verify/simt/executor/device_memory.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto {
namespace {

constexpr std::size_t kWorkspaceAlignment = 256;
constexpr std::byte kNan{0xff};

// In the second run any thread may be next, and one access in this many is interrupted.
constexpr std::uint32_t kPreemptionPeriod = 97;

std::int64_t element_bytes(std::int32_t type) {
  constexpr std::int64_t kBytes[] = {4, 2, 2, 1, 1};
  return kBytes[type];
}

std::int64_t span_bytes(const RectoRows& rows) {
  if (rows.num_rows == 0) return 0;
  return element_bytes(rows.type) * ((rows.num_rows - 1) * rows.row_stride +
                                     (rows.num_heads - 1) * rows.head_stride + rows.head_dim);
}

RectoRows as_const(const RectoMutableRows& rows) {
  return {rows.data,      rows.type,     rows.reserved,   rows.num_rows,
          rows.num_heads, rows.head_dim, rows.row_stride, rows.head_stride};
}

template <typename Tensor>
std::int64_t span_bytes(const Tensor& cache, std::int64_t num_blocks) {
  if (num_blocks == 0) return 0;
  const std::int64_t dims =
      cache.layout == kRectoPacked
          ? (cache.head_dim / cache.pack_width - 1) * cache.pack_stride + cache.pack_width
          : cache.head_dim;
  return element_bytes(cache.type) *
         ((num_blocks - 1) * cache.block_stride + (cache.num_kv_heads - 1) * cache.head_stride +
          (cache.block_size - 1) * cache.slot_stride + dims);
}

void write_message(const RectoCallContext& call, const std::string& text) {
  std::snprintf(call.message, static_cast<std::size_t>(call.message_bytes), "%s", text.c_str());
}

}  // namespace

std::int32_t unsupported(const RectoCallContext& call, const std::string& why) {
  write_message(call, why);
  return kRectoUnsupported;
}

struct CheckedCall::Memory {
  // Saved contents of the memory that kernels write.
  struct Kept {
    std::string name;
    std::byte* data = nullptr;
    std::vector<std::byte> before;
  };
  struct Workspace {
    Workspace(std::string with_name, std::size_t size, Initially contents = Initially::kUnwritten)
        : name(std::move(with_name)),
          use(contents == Initially::kZeros ? simt::BufferUse::kReadWrite
                                            : simt::BufferUse::kWriteFirst),
          initially(contents == Initially::kZeros ? std::byte{0} : kNan),
          room(size + kWorkspaceAlignment, initially) {
      const auto begin = reinterpret_cast<std::uintptr_t>(room.data());
      bytes = {room.data() + (kWorkspaceAlignment - begin % kWorkspaceAlignment), size};
    }
    simt::Buffer buffer() const {
      return {.name = name, .data = bytes.data(), .bytes = bytes.size(), .use = use};
    }

    std::string name;
    simt::BufferUse use;
    std::byte initially;
    std::vector<std::byte> room;
    std::span<std::byte> bytes;
  };

  void add(const std::string& name, const void* data, std::int64_t bytes, simt::BufferUse use) {
    if (bytes == 0 || data == nullptr) return;
    auto* begin = static_cast<std::byte*>(const_cast<void*>(data));
    buffers.push_back(
        {.name = name, .data = begin, .bytes = static_cast<std::size_t>(bytes), .use = use});
    if (use != simt::BufferUse::kReadOnly) results.push_back({name, begin, {begin, begin + bytes}});
  }

  template <typename T>
  void add_array(const std::string& name, const T* data, std::int64_t count) {
    add(name, data, count * std::int64_t{sizeof(T)}, simt::BufferUse::kReadOnly);
  }

  void add_rows(const std::string& name, const RectoRows& rows, simt::BufferUse use) {
    add(name, rows.data, span_bytes(rows), use);
  }

  template <typename Tensor>
  void add_cache(const std::string& name, const Tensor& cache, simt::BufferUse use) {
    add(name + ".data", cache.data, span_bytes(cache, cache.num_blocks), use);
    const std::int64_t scales[] = {0, 1, cache.num_kv_heads};
    add_array(name + ".scale", cache.scale, scales[cache.scale_kind]);
  }

  // Limits accesses to the cache blocks that each sequence's context addresses, or that all
  // sequences' do if the mapping of thread blocks to sequences is unknown.
  void bound(const RectoKvTensor& cache) {
    const std::int64_t block_bytes = cache.block_stride * element_bytes(cache.type);
    for (simt::Buffer& buffer : buffers) {
      // Interleaved blocks are not separate pieces of memory.
      if (buffer.data != cache.data || span_bytes(cache, 1) > block_bytes) continue;
      buffer.logical_bounds = {.piece_bytes = static_cast<std::size_t>(block_bytes),
                               .may_touch = blocks_of_sequences,
                               .owner_of_block = sequence_of_thread_block};
      if (!sequence_of_thread_block.empty() || blocks_of_sequences.empty()) continue;
      std::vector<bool> all(blocks_of_sequences[0].size());
      for (const std::vector<bool>& blocks : blocks_of_sequences) {
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = all[i] || blocks[i];
      }
      buffer.logical_bounds->may_touch = {all};
    }
  }

  void set_bounds() {
    if (attention == nullptr || attention->k.num_blocks == 0) return;
    bound(attention->k);
    bound(attention->v);
  }

  // Adds this memory to `known`. Invalid input: communication through other memory.
  Status add_to(simt::DeviceMemory& known) const;
  std::string find_faults(const simt::Schedule& schedule, const std::function<void()>& launches);

  std::vector<simt::Buffer> buffers;
  std::vector<Kept> results;
  std::deque<Workspace> workspaces;
  std::vector<const void*> communicating;
  const RectoAttentionCall* attention = nullptr;
  std::vector<std::vector<bool>> blocks_of_sequences;
  std::vector<std::uint32_t> sequence_of_thread_block;
};

CheckedCall::CheckedCall(const RectoAttentionCall& call)
    : context_(call.context), memory_(std::make_unique<Memory>()) {
  Memory& memory = *memory_;
  memory.attention = &call;
  memory.add_rows("q.data", call.q, simt::BufferUse::kReadOnly);
  memory.add_cache("k", call.k, simt::BufferUse::kReadOnly);
  memory.add_cache("v", call.v, simt::BufferUse::kReadOnly);
  if (call.num_seqs > 0) {
    memory.add_array("block_table", call.block_table,
                     (call.num_seqs - 1) * call.block_table_row_stride + call.max_blocks);
  }
  memory.add_array("context_length", call.context_length, call.num_seqs);
  memory.add_array("query_start", call.query_start, call.num_seqs + 1);
  memory.add_array("alibi_slopes", call.alibi_slopes, call.q.num_heads);
  memory.add_array("sinks", call.sinks, call.q.num_heads);
  memory.add_rows("out.data", as_const(call.out), simt::BufferUse::kWriteFirst);
  memory.add("lse_ln", call.lse_ln, call.q.num_rows * call.q.num_heads * 4,
             simt::BufferUse::kWriteFirst);
  for (std::int64_t sequence = 0; sequence < call.num_seqs; ++sequence) {
    const std::int32_t* row = call.block_table + sequence * call.block_table_row_stride;
    std::vector<bool> blocks(static_cast<std::size_t>(call.k.num_blocks));
    const std::int64_t count =
        ceil_div(std::int64_t{call.context_length[sequence]}, call.k.block_size);
    for (std::int64_t i = 0; i < count; ++i) blocks[static_cast<std::size_t>(row[i])] = true;
    memory.blocks_of_sequences.push_back(std::move(blocks));
  }
}

CheckedCall::CheckedCall(const RectoKvWriteCall& call)
    : context_(call.context), memory_(std::make_unique<Memory>()) {
  Memory& memory = *memory_;
  memory.add_rows("k.data", call.k, simt::BufferUse::kReadOnly);
  memory.add_rows("v.data", call.v, simt::BufferUse::kReadOnly);
  memory.add_array("slot_mapping", call.slot_mapping, call.num_tokens);
  memory.add_cache("k_cache", call.k_cache, simt::BufferUse::kReadWrite);
  memory.add_cache("v_cache", call.v_cache, simt::BufferUse::kReadWrite);
}

CheckedCall::~CheckedCall() = default;

void CheckedCall::set_sequence_of_thread_block(std::vector<std::uint32_t> sequences) {
  memory_->sequence_of_thread_block = std::move(sequences);
}

void* CheckedCall::add_workspace(const std::string& name, std::int64_t bytes, Initially contents) {
  if (bytes <= 0) return nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  return memory_->workspaces.emplace_back(name, size, contents).bytes.data();
}

void CheckedCall::blocks_communicate(const void* data) {
  if (data != nullptr) memory_->communicating.push_back(data);
}

Status CheckedCall::Memory::add_to(simt::DeviceMemory& known) const {
  std::vector<const void*> left = communicating;
  const auto add = [&](simt::Buffer buffer) {
    buffer.blocks_communicate = std::erase(left, buffer.data) > 0;
    return known.add(std::move(buffer));
  };
  for (const simt::Buffer& buffer : buffers) {
    if (const Status added = add(buffer); !added.is_ok()) return added;
  }
  for (const Workspace& workspace : workspaces) {
    std::ranges::fill(workspace.bytes, workspace.initially);
    RECTO_CHECK_EQ(add(workspace.buffer()), Status::ok());
  }
  if (left.empty()) return Status::ok();
  return Status::invalid_input(
      "blocks_communicate: expected the start of a workspace, or of a buffer of the call");
}

// The findings under this schedule, or an empty string.
std::string CheckedCall::Memory::find_faults(const simt::Schedule& schedule,
                                             const std::function<void()>& launches) {
  static simt::Executor executor({});
  simt::DeviceMemory known;
  if (const Status added = add_to(known); !added.is_ok()) return added.message();
  std::deque<Workspace> own;
  const auto add_workspace = [&known, &own](const std::string& name, std::size_t bytes) {
    const Workspace& workspace = own.emplace_back(name, bytes);
    RECTO_CHECK_EQ(known.add(workspace.buffer()), Status::ok());
    return static_cast<void*>(workspace.bytes.data());
  };
  simt::AccessChecker checker(known, {});
  executor.set_options({.schedule = schedule});
  executor.set_observer(&checker);
  std::string found;
  {
    simt::Stream stream(executor);
    const simt_foreign::StreamScope launched_on(stream);
    const CallMemoryScope allocated_in(add_workspace);
    try {
      launches();
    } catch (const std::exception& error) {
      found = error.what();
    }
    // The executor's own report is more detailed than an exception made from it.
    const std::string report = stream.synchronise().text();
    if (!report.empty()) found = report;
  }
  executor.set_observer(nullptr);
  return found;
}

std::string CheckedCall::find_faults(const std::function<void()>& launches) {
  Memory& memory = *memory_;
  memory.set_bounds();
  const std::string found = memory.find_faults({}, launches);
  if (!found.empty()) return found;
  std::vector<std::vector<std::byte>> first;
  for (const Memory::Kept& result : memory.results) {
    first.emplace_back(result.data, result.data + result.before.size());
    std::memcpy(result.data, result.before.data(), result.before.size());
  }
  const std::string found_at_random =
      memory.find_faults({.policy = simt::SchedulePolicy::kRandomThread,
                          .seed = 1,
                          .preemption_period = kPreemptionPeriod},
                         launches);
  if (!found_at_random.empty()) return found_at_random;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (dependence_ == ScheduleDependence::kIsMeant ||
        std::memcmp(first[i].data(), memory.results[i].data, first[i].size()) == 0) {
      continue;
    }
    return memory.results[i].name + " depends on the schedule: other bits in random order";
  }
  return {};
}

std::int32_t CheckedCall::run(const std::function<void()>& launches) {
  const std::string found = find_faults(launches);
  if (found.empty()) return kRectoOk;
  // The message may hold only the beginning.
  if (std::ssize(found) >= context_.message_bytes) std::fprintf(stderr, "%s\n", found.c_str());
  write_message(context_, found);
  return kRectoFailed;
}

}  // namespace recto
