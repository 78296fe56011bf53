// Writes K and V of fp32 into fp32, with the fault that RECTO_TEST_FAULT names.

#include <stdlib.h>
#include <string.h>

#include "verify/library/recto_kernel.h"

#ifndef RECTO_TEST_MEMORIES
#define RECTO_TEST_MEMORIES kRectoHostMemory
#endif

static int is(const char* fault) {
  const char* const wanted = getenv("RECTO_TEST_FAULT");
  return wanted != NULL && strcmp(wanted, fault) == 0;
}

// The byte offset of an offset in elements.
static int64_t bytes_of(int64_t offset) {
  if (is("int32 elements")) return (int64_t)(int32_t)offset * 4;
  if (is("uint32 elements")) return (int64_t)(uint32_t)offset * 4;
  if (is("int32 bytes")) return (int32_t)(offset * 4);
  if (is("uint32 bytes")) return (uint32_t)(offset * 4);
  return offset * 4;
}

static void write_token(const RectoRows* rows, int64_t token, const RectoMutableKvTensor* cache,
                        int64_t slot) {
  for (int64_t head = 0; head < rows->num_heads; ++head) {
    const float* const from =
        (const float*)rows->data + token * rows->row_stride + head * rows->head_stride;
    const int64_t to = slot / cache->block_size * cache->block_stride +
                       slot % cache->block_size * cache->slot_stride + head * cache->head_stride;
    for (int64_t dim = 0; dim < rows->head_dim; ++dim) {
      const int64_t offset =
          cache->layout == kRectoPacked
              ? dim / cache->pack_width * cache->pack_stride + dim % cache->pack_width
              : dim;
      memcpy((char*)cache->data + bytes_of(to + offset), from + dim, sizeof(float));
    }
  }
}

static int32_t kv_write(const RectoKvWriteCall* call) {
  if (call->k.type != kRectoFp32) return kRectoUnsupported;
  if (is("abort beyond 32 bits") && call->k_cache.block_stride > INT32_MAX / 4) abort();
  const int64_t slots = call->k_cache.num_blocks * call->k_cache.block_size;
  for (int64_t token = 0; token < call->num_tokens; ++token) {
    int64_t slot = call->slot_mapping[token];
    if (slot < 0 && is("padding to slot 0")) slot = 0;
    if (slot < 0 && is("padding to the last slot")) slot += slots;
    if (slot < 0 && !is("padding before the cache")) continue;
    write_token(&call->k, token, &call->k_cache, slot);
    write_token(&call->v, token, &call->v_cache, slot);
  }
  return kRectoOk;
}

const RectoKernelTable* recto_kernel_table(void) {
  static const RectoKernelTable kTable = {.struct_bytes = sizeof(RectoKernelTable),
                                          .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                          .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                          .name = "writes",
                                          .memories = RECTO_TEST_MEMORIES,
                                          .kv_write = kv_write};
  return &kTable;
}
