#pragma once

// Checked calls that move K and V on a GPU: new tokens into the cache, whole blocks within a cache
// or between two, and contexts out of it. All pointers, including spans, are to device memory; of
// two caches, one may be in pinned host memory.
//
// Nothing is launched unless everything that the host can check is valid:
//   invalid input  shapes, types, strides and overlaps (core/attention_gate.h); what no kernel
//                  serves; a workspace that is too small or misaligned
//   failed         CUDA refuses a launch; the message is CUDA's

#include <kernel_dialect.h>

#include <cstdint>
#include <span>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/attention_plan.h"
#include "cuda/kernels/kv_write.h"
#include "cuda/workspace.h"

namespace recto {

struct CacheOpOptions {
  // kOnDevice: the contents of mappings, pairs, tables, lengths and scales are checked before
  // anything is written; the call waits for the stream.
  ContentsCheck contents_check = ContentsCheck::kNone;
  Workspace workspace = {};  // needed only for a check: kContentsCheckBytes
};
inline constexpr std::int64_t kContentsCheckBytes = 48;

// Writes token t into slot slot_mapping[t]; -1 writes nothing. RepeatedSlots::kNone promises that
// no slot is repeated; the contents check verifies this.
Status run_kv_write(const KvWriteInputs& inputs, kernels::RepeatedSlots repeated,
                    const CacheOpOptions& options, KernelStream stream);

// Copies whole blocks, in any order: no destination may appear twice, and none may be a source.
Status run_block_copy(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                      const CacheOpOptions& options, KernelStream stream);

// As run_block_copy(), but between two caches, to swap blocks out and in; no destination may appear
// twice.
Status run_block_swap(const PagedKvView& from, const MutablePagedKvView& to,
                      std::span<const BlockPair> copies, const CacheOpOptions& options,
                      KernelStream stream);

// Copies the contexts of all sequences into contiguous rows, which must not overlap between
// sequences. `max_context_length`: in tokens, at least the longest context, at most
// kernels::kGatheredMax. The check refuses longer contexts; without it they are cut at the next
// multiple of 32.
Status run_gather(const GatherInputs& inputs, std::int64_t max_context_length,
                  const CacheOpOptions& options, KernelStream stream);

}  // namespace recto
