#pragma once

// Moving K and V about, as plain loops over elements: they define, bit for bit, what the kernels
// must do, and that they touch nothing else. Views must have passed the gate of core/.

#include <cstdint>
#include <span>

#include "core/attention_views.h"
#include "core/gather_inputs.h"

namespace recto::reference {

// Writes token t into slot slot_mapping[t]; -1 writes nothing. If two tokens name one slot, the
// later one stays. fp8: y = float(x) / scale, rounded and saturated; other types: the bits of x,
// whose type must be the cache's, or (fp32 into fp16 or bf16) x rounded to nearest even.
void write_kv(const KvWriteInputs& inputs);

// Copies whole blocks of K and V within a cache, in the order given. No destination is a source.
void copy_blocks(const MutablePagedKvView& kv, std::span<const BlockPair> pairs);

// Copies whole blocks between two caches of equal shape and type (device and host pool): swap in
// and out. Strides and layouts may differ.
void swap_blocks(const PagedKvView& from, const MutablePagedKvView& to,
                 std::span<const BlockPair> pairs);

// The contexts of all sequences as contiguous rows.
void gather_kv(const GatherInputs& inputs);

}  // namespace recto::reference
