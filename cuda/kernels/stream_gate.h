#pragma once

// Which caches a stream of keys can read. Host code.

#include <kernel_dialect.h>

#include "core/paged_kv_view.h"

namespace recto::kernels {

// What is not served of a cache, or null: K and V of different types or head dims, packs of another
// width than the layout's, and data or strides that are not multiples of 16 bytes.
const char* why_not_streamed(const PagedKvView& kv);

// The same of one that comes in whole blocks: packed ones, and those whose slots of a block and KV
// head do not lie side by side.
const char* why_not_in_blocks(const PagedKvView& kv);

}  // namespace recto::kernels
