#pragma once

// The two gates of every call. Code that computes attention may rely on what they have checked:
//
//   check_shapes    pointers, sizes, types, strides, overlaps, options. Reads no memory, so it
//                   also works for calls on device memory; O(1).
//   check_contents  the same (including outputs, if given), then the contents of tables, lengths,
//                   slots, scales, slopes and sinks, which must be in host memory; O(blocks that
//                   contexts address). Q, K and V are not read.
//
// Both return invalid input for the first broken rule: "FIELD: expected WHAT, got VALUE".
//
// Overlaps: memory that a call writes must overlap neither itself nor anything else the call
// touches; slices that interleave in one buffer with equal strides do not overlap. Read-only memory
// may overlap, and rows (of q, new_k, ...) may even overlap themselves, but no two elements of a
// cache may share memory.

#include <span>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"
#include "core/view_gate.h"

namespace recto {

Status check_shapes(const PagedAttentionInputs& inputs, const GateOptions& options = {});
Status check_shapes(const PagedAttentionInputs& inputs, const AttentionOutputs& outputs,
                    const GateOptions& options = {});
Status check_shapes(const DecodeStepInputs& inputs, const GateOptions& options = {});
Status check_shapes(const DecodeStepInputs& inputs, const AttentionOutputs& outputs,
                    const GateOptions& options = {});
Status check_shapes(const KvWriteInputs& inputs, const GateOptions& options = {});
Status check_shapes(const GatherInputs& inputs, const GateOptions& options = {});

// Checks block copies within one cache.
Status check_shapes(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                    const GateOptions& options = {});
// Checks block swaps between two caches. Blocks of both caches must have the same shape and type,
// and codes the same meaning; the number of blocks and the layouts may differ.
Status check_shapes(const PagedKvView& from, const MutablePagedKvView& to,
                    std::span<const BlockPair> copies, const GateOptions& options = {});

// query_start must ascend from 0. A sequence may have more query rows than context: its first rows
// then have negative positions and, if causal, see no key. Block ids are checked only where a
// context reaches; entries beyond it may hold anything.
Status check_contents(const PagedAttentionInputs& inputs);
Status check_contents(const PagedAttentionInputs& inputs, const AttentionOutputs& outputs);
Status check_contents(const DecodeStepInputs& inputs);
Status check_contents(const DecodeStepInputs& inputs, const AttentionOutputs& outputs);
Status check_contents(const KvWriteInputs& inputs);

// Contexts must fit into the rows that they are gathered into and must not share rows. Takes a
// further O(num_seqs log num_seqs).
Status check_contents(const GatherInputs& inputs);

// Block ids must exist in their caches. Each destination must occur once and, within one cache,
// must not be a source, so that copies can run in any order. Swapped caches must have equal scales.
// Expected O(pairs).
Status check_contents(const MutablePagedKvView& kv, std::span<const BlockPair> copies);
Status check_contents(const PagedKvView& from, const MutablePagedKvView& to,
                      std::span<const BlockPair> copies);

}  // namespace recto
