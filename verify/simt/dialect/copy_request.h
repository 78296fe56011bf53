#pragma once

// A request for an asynchronous copy.

#include "verify/simt/dialect/simt_taint.h"
#include "verify/simt/executor/device_copies.h"

namespace recto::simt::device {

// (If nothing is read, the source may be any address.)
inline CopyRequest copy_request(void* shared, const void* global, unsigned bytes,
                                unsigned source_bytes) {
  expect_untainted(shared);
  expect_untainted(source_bytes);
  if (source_bytes > 0) expect_untainted(global);
  return {shared, without_taint(global), bytes, source_bytes};
}

}  // namespace recto::simt::device
