#pragma once

// The two gates of every call. Whoever computes attention may rely on what they let through:
//
//   check_shapes    pointers, sizes, types, strides, overlaps, options. Reads no memory, so that it
//                   also serves calls whose memory is a device's; O(1).
//   check_contents  the same (with outputs: those, too), then what stands in tables, lengths,
//                   slots, scales, slopes and sinks, which must be in host memory; O(blocks that
//                   contexts address). Q, K and V are not read.
//
// A refusal is invalid input: "FIELD: expected WHAT, got VALUE", for the first rule broken.
//
// Overlaps: what a call writes overlaps neither itself nor anything else that it touches; slices
// that interleave in one buffer by equal strides do not overlap. What is only read may overlap,
// rows (of q, new_k, ...) themselves as well; but a cache has no two elements in one place.

#include <span>

#include "core/attention_views.h"
#include "core/gather_inputs.h"
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

// A cache within which blocks are copied.
Status check_shapes(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                    const GateOptions& options = {});
// Two between which blocks are swapped: blocks of one shape and type, whose codes mean the same;
// how many, and how they are laid out, may differ.
Status check_shapes(const PagedKvView& from, const MutablePagedKvView& to,
                    std::span<const BlockPair> copies, const GateOptions& options = {});

// Sequences' query rows ascend from 0 and may be more than their contexts: the first then stand at
// negative positions, and if causal see no key. A block id or length is only looked at where a
// context reaches; what lies beyond may hold anything.
Status check_contents(const PagedAttentionInputs& inputs);
Status check_contents(const PagedAttentionInputs& inputs, const AttentionOutputs& outputs);
Status check_contents(const DecodeStepInputs& inputs);
Status check_contents(const DecodeStepInputs& inputs, const AttentionOutputs& outputs);
Status check_contents(const KvWriteInputs& inputs);

// Contexts fit the rows that they are gathered into, and share none. O(num_seqs log num_seqs) more.
Status check_contents(const GatherInputs& inputs);

// Block ids are the caches'. A destination stands once, and within one cache is no source: the
// order of the copies may then be any. Swapped caches have equal scales. O(pairs), expected.
Status check_contents(const MutablePagedKvView& kv, std::span<const BlockPair> copies);
Status check_contents(const PagedKvView& from, const MutablePagedKvView& to,
                      std::span<const BlockPair> copies);

}  // namespace recto
