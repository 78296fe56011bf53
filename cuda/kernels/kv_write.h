#pragma once

// New tokens' K and V into their slots of the cache.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// What becomes of tokens that name one slot.
enum class RepeatedSlots : std::uint8_t {
  kLaterStays,  // each token looks through all slots behind its own: O(num_tokens) reads of it
  kNone,        // the caller promises that there are none, as in engines' mappings
};

// As KvWriteInputs of core/attention_views.h, in device memory; checked by core/attention_gate.h.
struct KvWriteParams {
  RowsView k = {};  // [num_tokens, num_kv_heads, k.head_dim]
  RowsView v = {};  // [num_tokens, num_kv_heads, v.head_dim]
  // [num_tokens]: block_id * block_size + offset, or -1: nothing is written.
  const std::int64_t* slot_mapping = nullptr;
  RepeatedSlots repeated_slots = RepeatedSlots::kLaterStays;
  // In any layout; of the rows' type, or fp16 or bf16 for fp32 rows, which are rounded to nearest
  // even then, or e4m3 or e5m2: x / scale in fp32, rounded likewise and saturated. (Which NaN one
  // becomes that is rounded is left open.)
  MutablePagedKvView kv = {};
};

// Invalid input: what is not served.
Status check_write(const KvWriteParams& params);

// One thread block for each token. Invalid input names the field of `params` that is not served, a
// failure is CUDA's; nothing was launched then.
Status launch_kv_write(const KvWriteParams& params, KernelStream stream);

}  // namespace recto::kernels
