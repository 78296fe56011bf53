#pragma once

// Which calls a stream of keys serves. Host code.

#include <kernel_dialect.h>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// What a call of attention reads and writes.
struct StreamedViews {
  const RowsView& q;
  const PagedKvView& kv;
  const MutableRowsView& out;
};

// Invalid input: results of another type than q's, K and V of different types or head dims, packs
// of another width than the layout's, and data or strides that are not multiples of 16 bytes.
Status check_streamed(const StreamedViews& views);

// The same of caches that come in whole blocks: packed ones, and those whose slots of a block and
// KV head do not lie side by side.
Status check_in_blocks(const PagedKvView& kv);

}  // namespace recto::kernels
