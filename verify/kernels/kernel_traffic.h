#pragma once

// The traffic and work that each kernel needs, derived from its shapes alone, and its actual
// traffic by the executor's counters: what is known about speed without a GPU.

#include <cstdint>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "core/element_type.h"
#include "core/paged_kv_view.h"

namespace recto::verify {

// A batch of sequences of equal length, and how many of their last tokens are queries.
struct TrafficShape {
  std::int64_t num_seqs = 2;
  std::int64_t context_length = 1024;
  std::int64_t rows_per_seq = 1;
  std::int64_t num_q_heads = 8;
  std::int64_t num_kv_heads = 2;
  std::int64_t head_dim = 128;
  std::int64_t block_size = 16;
  ElementType q_type = ElementType::kBf16;
  ElementType kv_type = ElementType::kBf16;
  KvLayout layout = KvLayout::kHeadMajor;
};

enum class TrafficKernel : std::uint8_t {
  kReferenceDecode,
  kSplitDecode,
  kGqaDecode,
  kGqaDecodeSplit,
  kTmaDecode,
  kPagedPrefill,
  kKvWrite,    // all tokens of the contexts
  kKvAppend,   // the last token of each sequence, without rotary embedding
  kBlockCopy,  // half of the blocks to the other half
  kBlockSwap,  // all of them to another cache
  kGather,
};
const std::vector<TrafficKernel>& traffic_kernels();
const char* traffic_kernel_name(TrafficKernel kernel);

// Counts every required byte once, and the partial states of splits twice; and the multiplications
// and additions of the two matrix products.
struct Work {
  double bytes = 0;
  double flops = 0;
};
Work work_of(TrafficKernel kernel, const TrafficShape& shape);

// Counted per warp: global memory in sectors of 32 bytes, once per request.
struct Traffic {
  std::uint64_t sector_bytes = 0;
  std::uint64_t wasted_bytes = 0;
  std::uint64_t bank_conflicts = 0;
  std::string conflicting_lines = {};  // "\n64 at a.cuh:17, shared read" per conflicting line
};

// Runs the kernel, and its merge if there is one, on the executor, with four splits or one.
Traffic counted_traffic(TrafficKernel kernel, const TrafficShape& shape);

}  // namespace recto::verify
