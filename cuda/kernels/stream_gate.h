#pragma once

// Checks which calls a key stream serves. Host code.

#include <kernel_dialect.h>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// The tensors that an attention call reads and writes.
struct StreamedViews {
  const RowsView& q;
  const PagedKvView& kv;
  const MutableRowsView& out;
};

// Invalid input: `out` whose type is not q's, K and V of different types or head dims, packs whose
// width is not the layout's, and data or strides that are not multiples of 16 bytes.
Status check_streamed(const StreamedViews& views);

// For caches that are fetched in whole blocks. Invalid input: packed caches, and those in which the
// slots of a block and KV head are not contiguous.
Status check_in_blocks(const PagedKvView& kv);

}  // namespace recto::kernels
