#pragma once

// Writes new tokens' K and V into their slots of the cache.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// What happens to tokens that name the same slot.
enum class RepeatedSlots : std::uint8_t {
  kLaterStays,  // the last token wins; each token reads all later slots: O(num_tokens)
  kNone,        // the caller promises that no slot is repeated, as in engines' mappings
};

// As KvWriteInputs of core/attention_views.h, in device memory; checked by core/attention_gate.h.
struct KvWriteParams {
  RowsView k = {};  // [num_tokens, num_kv_heads, k.head_dim]
  RowsView v = {};  // [num_tokens, num_kv_heads, v.head_dim]
  // [num_tokens]: block_id * block_size + offset; -1 writes nothing.
  const std::int64_t* slot_mapping = nullptr;
  RepeatedSlots repeated_slots = RepeatedSlots::kLaterStays;
  // In any layout. Its type is that of the rows; or fp16 or bf16 for fp32 rows, which are then
  // rounded to nearest even; or e4m3 or e5m2: x / scale in fp32, rounded likewise and saturated.
  // (Which NaN a rounded NaN becomes is unspecified.)
  MutablePagedKvView kv = {};
};

// Invalid input: writes that are not served.
Status check_write(const KvWriteParams& params);

// One thread block for each token. Invalid input names the field of `params` that is not served; a
// failure is CUDA's. In both cases nothing has been launched.
Status launch_kv_write(const KvWriteParams& params, KernelStream stream);

}  // namespace recto::kernels
