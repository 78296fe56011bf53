// The layout of the C interface in C++: libraries were built with it, so within a major version
// only the ends of calls and of the table may change.

#include "verify/library/recto_kernel.h"

#include <cstddef>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

static_assert(sizeof(void*) == 8);

TEST_CASE("the structs that others contain have the sizes of version 1") {
  CHECK(sizeof(RectoCallContext) == 40);
  CHECK(sizeof(RectoRows) == 56);
  CHECK(sizeof(RectoMutableRows) == 56);
  CHECK(sizeof(RectoKvTensor) == 104);
  CHECK(sizeof(RectoMutableKvTensor) == 104);
}

TEST_CASE("the fields of calls and of the table have the offsets of version 1.0") {
  CHECK(offsetof(RectoAttentionCall, q) == 40);
  CHECK(offsetof(RectoAttentionCall, k) == 96);
  CHECK(offsetof(RectoAttentionCall, v) == 200);
  CHECK(offsetof(RectoAttentionCall, block_table) == 304);
  CHECK(offsetof(RectoAttentionCall, context_length) == 336);
  CHECK(offsetof(RectoAttentionCall, query_start) == 344);
  CHECK(offsetof(RectoAttentionCall, scale) == 368);
  CHECK(offsetof(RectoAttentionCall, window) == 384);
  CHECK(offsetof(RectoAttentionCall, out) == 408);
  CHECK(offsetof(RectoAttentionCall, lse_ln) == 464);
  CHECK(sizeof(RectoAttentionCall) >= 472);

  CHECK(offsetof(RectoKvWriteCall, k) == 40);
  CHECK(offsetof(RectoKvWriteCall, v) == 96);
  CHECK(offsetof(RectoKvWriteCall, slot_mapping) == 152);
  CHECK(offsetof(RectoKvWriteCall, k_cache) == 168);
  CHECK(offsetof(RectoKvWriteCall, v_cache) == 272);
  CHECK(sizeof(RectoKvWriteCall) >= 376);

  CHECK(offsetof(RectoKernelTable, abi_major) == 8);
  CHECK(offsetof(RectoKernelTable, name) == 16);
  CHECK(offsetof(RectoKernelTable, decode) == 32);
  CHECK(offsetof(RectoKernelTable, kv_write) == 48);
  CHECK(sizeof(RectoKernelTable) >= 56);
}

}  // namespace
}  // namespace recto::verify
