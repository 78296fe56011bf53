#pragma once

// Moves of K and V, as plain loops over elements. They define, bit for bit, what kernels must
// write, and that kernels change nothing else. Views must have passed the gate in core/.

#include <cstdint>
#include <span>

#include "core/attention_views.h"

namespace recto::reference {

// Writes token t into slot slot_mapping[t]; -1 writes nothing. If two tokens name the same slot,
// the later one wins. fp8: y = float(x) / scale, rounded and saturated. Other types: the bits of x,
// which must have the cache's type, or (fp32 into fp16 or bf16) x rounded to nearest even.
void write_kv(const KvWriteInputs& inputs);

// Copies whole blocks of K and V within a cache, in the order given. No destination may be a
// source.
void copy_blocks(const MutablePagedKvView& kv, std::span<const BlockPair> pairs);

// Copies whole blocks between two caches of equal block shape and type (device and host pool): swap
// in and out. Strides and layouts may differ.
void swap_blocks(const PagedKvView& from, const MutablePagedKvView& to,
                 std::span<const BlockPair> pairs);

// Copies the contexts of all sequences into contiguous rows.
void gather_kv(const GatherInputs& inputs);

}  // namespace recto::reference
