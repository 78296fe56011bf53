// Paged attention for recto_kernel.h in plain C: fp32 and bf16, every layout and option, decode,
// prefill and KV write. One key after the other, with the softmax that streams.
//
//   cc -std=c11 -O2 -shared -fPIC -I RECTO -o libmine.so paged_kernel.c -lm

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "verify/library/recto_kernel.h"

enum { kHeadDimMax = 512 };

// One query row of one head.
typedef struct Row {
  int64_t sequence;
  int64_t row;       // of the call
  int64_t position;  // in the context
  int64_t head;
  int64_t kv_head;
} Row;

// The softmax of the keys so far: maximum, sum and weighted sum of V.
typedef struct State {
  float maximum;
  float sum;
  float out[kHeadDimMax];
} State;

static float load(const void* data, int32_t type, int64_t index) {
  float value = 0;
  if (type == kRectoFp32) {
    memcpy(&value, (const float*)data + index, sizeof(value));
    return value;
  }
  const uint32_t bits = (uint32_t)((const uint16_t*)data)[index] << 16;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static void store(void* data, int32_t type, int64_t index, float value) {
  if (type == kRectoFp32) {
    memcpy((float*)data + index, &value, sizeof(value));
    return;
  }
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  // To the nearest bf16, of two to the even one; NaN stays NaN.
  if (isnan(value)) {
    bits |= 0x400000;
  } else {
    bits += 0x7fff + ((bits >> 16) & 1);
  }
  ((uint16_t*)data)[index] = (uint16_t)(bits >> 16);
}

// Where a dim lies, from its slot's first.
static int64_t dim_offset(const RectoKvTensor* cache, int64_t dim) {
  if (cache->layout != kRectoPacked) return dim;
  return dim / cache->pack_width * cache->pack_stride + dim % cache->pack_width;
}

// Where token `token` of the row's sequence begins in a cache.
static int64_t token_offset(const RectoAttentionCall* call, const RectoKvTensor* cache,
                            const Row* at, int64_t token) {
  const int32_t* const blocks = call->block_table + at->sequence * call->block_table_row_stride;
  return blocks[token / cache->block_size] * cache->block_stride +
         token % cache->block_size * cache->slot_stride + at->kv_head * cache->head_stride;
}

static float score_of(const RectoAttentionCall* call, const Row* at, int64_t key) {
  const int64_t q = at->row * call->q.row_stride + at->head * call->q.head_stride;
  const int64_t k = token_offset(call, &call->k, at, key);
  float score = 0;
  for (int64_t dim = 0; dim < call->q.head_dim; ++dim) {
    score += load(call->q.data, call->q.type, q + dim) *
             load(call->k.data, call->k.type, k + dim_offset(&call->k, dim));
  }
  score *= call->scale;
  if (call->softcap > 0) score = call->softcap * tanhf(score / call->softcap);
  if (call->alibi_slopes != NULL) {
    score += call->alibi_slopes[at->head] * (float)(key - at->position);
  }
  return score;
}

// What was summed so far, relative to the new maximum.
static void raise_maximum(State* state, float maximum, int64_t head_dim) {
  const float factor = expf(state->maximum - maximum);
  state->sum *= factor;
  for (int64_t dim = 0; dim < head_dim; ++dim) state->out[dim] *= factor;
  state->maximum = maximum;
}

static void add_key(const RectoAttentionCall* call, const Row* at, int64_t key, State* state) {
  const int64_t head_dim = call->v.head_dim;
  const float score = score_of(call, at, key);
  if (score > state->maximum) raise_maximum(state, score, head_dim);
  const float weight = expf(score - state->maximum);
  const int64_t v = token_offset(call, &call->v, at, key);
  state->sum += weight;
  for (int64_t dim = 0; dim < head_dim; ++dim) {
    state->out[dim] += weight * load(call->v.data, call->v.type, v + dim_offset(&call->v, dim));
  }
}

static void attend(const RectoAttentionCall* call, const Row* at) {
  const int64_t head_dim = call->v.head_dim;
  const int64_t context = call->context_length[at->sequence];
  int64_t begin = 0;
  if (call->window > 0 && at->position - call->window + 1 > 0) {
    begin = at->position - call->window + 1;
  }
  const int64_t end = call->causal ? at->position + 1 : context;
  State state;
  memset(&state, 0, sizeof(state));
  state.maximum = -INFINITY;
  for (int64_t key = begin; key < end; ++key) add_key(call, at, key, &state);
  if (call->sinks != NULL) {
    const float sink = call->sinks[at->head];
    if (sink > state.maximum) raise_maximum(&state, sink, head_dim);
    state.sum += expf(sink - state.maximum);
  }
  const int64_t out = at->row * call->out.row_stride + at->head * call->out.head_stride;
  for (int64_t dim = 0; dim < head_dim; ++dim) {
    const float value = state.sum > 0 ? state.out[dim] / state.sum : 0;
    store(call->out.data, call->out.type, out + dim, value);
  }
  call->lse_ln[at->row * call->q.num_heads + at->head] = state.maximum + logf(state.sum);
}

static int32_t refuse(const RectoCallContext* context, const char* why) {
  snprintf(context->message, (size_t)context->message_bytes, "%s", why);
  return kRectoUnsupported;
}

static int32_t run_rows(const RectoAttentionCall* call, const int32_t* query_start) {
  if (call->q.type != kRectoFp32 && call->q.type != kRectoBf16) {
    return refuse(&call->context, "queries that are neither fp32 nor bf16");
  }
  if (call->k.type != call->q.type) return refuse(&call->context, "an fp8 cache");
  if (call->v.head_dim > kHeadDimMax) return refuse(&call->context, "head dims beyond 512");
  const int64_t group = call->q.num_heads / call->k.num_kv_heads;
  for (int64_t sequence = 0; sequence < call->num_seqs; ++sequence) {
    // Decode: row s is sequence s's.
    const int64_t begin = query_start != NULL ? query_start[sequence] : sequence;
    const int64_t end = query_start != NULL ? query_start[sequence + 1] : sequence + 1;
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t head = 0; head < call->q.num_heads; ++head) {
        const Row at = {.sequence = sequence,
                        .row = row,
                        .position = call->context_length[sequence] - end + row,
                        .head = head,
                        .kv_head = head / group};
        attend(call, &at);
      }
    }
  }
  return kRectoOk;
}

static int32_t decode(const RectoAttentionCall* call) { return run_rows(call, NULL); }

static int32_t prefill(const RectoAttentionCall* call) { return run_rows(call, call->query_start); }

static void write_token(const RectoRows* rows, int64_t token, const RectoMutableKvTensor* cache,
                        int64_t slot) {
  const size_t bytes = rows->type == kRectoFp32 ? 4 : 2;
  for (int64_t head = 0; head < rows->num_heads; ++head) {
    const int64_t from = token * rows->row_stride + head * rows->head_stride;
    const int64_t to = slot / cache->block_size * cache->block_stride +
                       slot % cache->block_size * cache->slot_stride + head * cache->head_stride;
    for (int64_t dim = 0; dim < rows->head_dim; ++dim) {
      const int64_t offset =
          cache->layout == kRectoPacked
              ? dim / cache->pack_width * cache->pack_stride + dim % cache->pack_width
              : dim;
      memcpy((char*)cache->data + (size_t)(to + offset) * bytes,
             (const char*)rows->data + (size_t)(from + dim) * bytes, bytes);
    }
  }
}

static int32_t kv_write(const RectoKvWriteCall* call) {
  if (call->k.type != call->k_cache.type) {
    return refuse(&call->context, "a cache of another type than the rows");
  }
  for (int64_t token = 0; token < call->num_tokens; ++token) {
    const int64_t slot = call->slot_mapping[token];
    if (slot < 0) continue;
    write_token(&call->k, token, &call->k_cache, slot);
    write_token(&call->v, token, &call->v_cache, slot);
  }
  return kRectoOk;
}

const RectoKernelTable* recto_kernel_table(void) {
  static const RectoKernelTable kTable = {.struct_bytes = sizeof(RectoKernelTable),
                                          .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                          .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                          .name = "plain-c",
                                          .memories = kRectoHostMemory,
                                          .decode = decode,
                                          .prefill = prefill,
                                          .kv_write = kv_write};
  return &kTable;
}
