#pragma once

// Moving K and V about on a GPU, as calls that are checked: new tokens into the cache, whole blocks
// within one and from one to another, contexts out of it. All pointers, spans too, are to device
// memory; one cache of two may be in pinned memory of the host.
//
// Nothing is launched unless everything that can be known on the host is right:
//   invalid input  shapes, types, strides and overlaps (core/attention_gate.h); what no kernel
//                  serves; a workspace that is too small or misaligned
//   failed         CUDA refuses a launch, by its own words

#include <kernel_dialect.h>

#include <cstdint>
#include <span>

#include "core/attention_views.h"
#include "core/gather_inputs.h"
#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/attention_plan.h"
#include "cuda/kernels/kv_write.h"
#include "cuda/workspace.h"

namespace recto {

struct CacheOpOptions {
  // kOnDevice: what mappings, pairs, tables, lengths and scales hold is looked at before anything
  // is written; the call waits for the stream.
  ContentsCheck contents_check = ContentsCheck::kNone;
  Workspace workspace = {};  // of kContentsCheckBytes, for a check
};
inline constexpr std::int64_t kContentsCheckBytes = 48;

// Token t into slot slot_mapping[t]; -1 writes nothing. Of repeated slots, RepeatedSlots::kNone is
// a promise, which the check holds the caller to.
Status run_kv_write(const KvWriteInputs& inputs, kernels::RepeatedSlots repeated,
                    const CacheOpOptions& options, KernelStream stream);

// Whole blocks, in any order: no destination stands twice, and none is a source.
Status run_block_copy(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                      const CacheOpOptions& options, KernelStream stream);

// The same between two caches, to swap blocks out and in; no destination stands twice.
Status run_block_swap(const PagedKvView& from, const MutablePagedKvView& to,
                      std::span<const BlockPair> copies, const CacheOpOptions& options,
                      KernelStream stream);

// The contexts of all sequences as contiguous rows, of which no two have one in common.
// `max_context_length`: tokens, at least the longest context, at most kernels::kGatheredMax. So
// many of each sequence are gathered, even if there are more, which the check refuses.
Status run_gather(const GatherInputs& inputs, std::int64_t max_context_length,
                  const CacheOpOptions& options, KernelStream stream);

}  // namespace recto
