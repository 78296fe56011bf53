// Attention and KV writes for fp32 only. Confuses two strides as RECTO_TEST_FAULT says.

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/library/recto_kernel.h"

static int is(const char* fault) {
  const char* const wanted = getenv("RECTO_TEST_FAULT");
  return wanted != NULL && strcmp(wanted, fault) == 0;
}

static int32_t refuse(const RectoCallContext* context, const char* why) {
  snprintf(context->message, (size_t)context->message_bytes, "%s", why);
  return kRectoUnsupported;
}

// As in a kernel that counts in vectors of eight elements, whatever the stride.
static int64_t stride_of(int64_t stride) {
  return is("strides in eights") ? stride / 8 * 8 : stride;
}

// The rows' strides; dense if the fault says so.
static RectoRows rows_of(RectoRows rows, const char* dense_heads, const char* dense_rows) {
  rows.row_stride = stride_of(rows.row_stride);
  rows.head_stride = stride_of(rows.head_stride);
  if (is(dense_heads)) rows.head_stride = rows.head_dim;
  if (is(dense_rows)) rows.row_stride = rows.num_heads * rows.head_stride;
  return rows;
}

// In packed caches, if the fault says so: contiguous slots, packs or heads.
static RectoKvTensor packed_cache_of(RectoKvTensor cache, const char* dense_heads) {
  const int64_t num_packs = cache.head_dim / cache.pack_width;
  if (is("slots of packs by head dim")) cache.slot_stride = cache.head_dim / num_packs;
  if (is("dense packs")) cache.pack_stride = cache.block_size * cache.slot_stride;
  if (is(dense_heads)) cache.head_stride = num_packs * cache.pack_stride;
  return cache;
}

// The order of slots and heads follows from their strides.
static RectoKvTensor cache_of(RectoKvTensor cache, const char* dense_slots,
                              const char* dense_heads) {
  if (cache.layout == kRectoPacked) return packed_cache_of(cache, dense_heads);
  cache.block_stride = stride_of(cache.block_stride);
  cache.head_stride = stride_of(cache.head_stride);
  cache.slot_stride = stride_of(cache.slot_stride);
  const int slots_are_inner = cache.slot_stride < cache.head_stride;
  if (is(dense_slots))
    cache.slot_stride = slots_are_inner ? cache.head_dim : cache.num_kv_heads * cache.head_stride;
  if (is(dense_heads))
    cache.head_stride = slots_are_inner ? cache.block_size * cache.slot_stride : cache.head_dim;
  return cache;
}

typedef struct {
  RectoRows q;
  RectoKvTensor k;
  RectoKvTensor v;
  int64_t out_row_stride;
  int64_t out_head_stride;
} Views;

static Views views_of(const RectoAttentionCall* call) {
  Views views = {.q = rows_of(call->q, "dense heads of q", "dense rows of q"),
                 .k = cache_of(call->k, "dense slots of k", "dense heads of k"),
                 .v = cache_of(call->v, "dense slots of v", "dense heads of v"),
                 .out_row_stride = stride_of(call->out.row_stride),
                 .out_head_stride = stride_of(call->out.head_stride)};
  const int is_same = call->k.head_dim == call->v.head_dim;
  if (is("blocks of v as of k") && is_same) views.v.block_stride = call->k.block_stride;
  if (is("slots of v as of k") && is_same) views.v.slot_stride = call->k.slot_stride;
  if (is("heads of v as of k") && is_same) views.v.head_stride = call->k.head_stride;
  if (is("rows of out as of q") && is_same) views.out_row_stride = call->q.row_stride;
  if (is("dense heads of out")) views.out_head_stride = call->out.head_dim;
  return views;
}

static const float* at(const RectoKvTensor* cache, const RectoAttentionCall* call, int64_t sequence,
                       int64_t key, int64_t head) {
  const int32_t* const blocks = call->block_table + sequence * call->block_table_row_stride;
  return (const float*)cache->data + blocks[key / cache->block_size] * cache->block_stride +
         key % cache->block_size * cache->slot_stride + head * cache->head_stride;
}

// The offset of a dim in its head's slot.
static int64_t place_of(int64_t dim, int64_t pack_width, int64_t pack_stride) {
  return pack_width == 0 ? dim : dim / pack_width * pack_stride + dim % pack_width;
}

static double dot(const float* q, const float* k, const RectoKvTensor* cache) {
  double sum = 0;
  for (int64_t dim = 0; dim < cache->head_dim; ++dim)
    sum += (double)q[dim] * (double)k[place_of(dim, cache->pack_width, cache->pack_stride)];
  return sum;
}

// Two passes: the maximum, then the weights.
static void attend(const RectoAttentionCall* call, const Views* views, int64_t sequence,
                   int64_t row, int64_t head) {
  const int64_t kv_head = head / (call->q.num_heads / call->k.num_kv_heads);
  const float* const q =
      (const float*)views->q.data + row * views->q.row_stride + head * views->q.head_stride;
  const int64_t end = call->query_start == NULL ? row + 1 : call->query_start[sequence + 1];
  const int64_t position = call->context_length[sequence] - end + row;
  double maximum = -INFINITY;
  for (int64_t key = 0; key <= position; ++key)
    maximum = fmax(maximum, dot(q, at(&views->k, call, sequence, key, kv_head), &views->k) *
                                (double)call->scale);
  double sum = 0;
  double out[512] = {0};
  for (int64_t key = 0; key <= position; ++key) {
    const float* const v = at(&views->v, call, sequence, key, kv_head);
    const double score =
        dot(q, at(&views->k, call, sequence, key, kv_head), &views->k) * (double)call->scale;
    const double weight = exp(score - maximum);
    sum += weight;
    for (int64_t dim = 0; dim < call->v.head_dim; ++dim)
      out[dim] += weight * (double)v[place_of(dim, views->v.pack_width, views->v.pack_stride)];
  }
  float* const to =
      (float*)call->out.data + row * views->out_row_stride + head * views->out_head_stride;
  for (int64_t dim = 0; dim < call->v.head_dim; ++dim)
    to[dim] = sum > 0 ? (float)(out[dim] / sum) : 0;
  call->lse_ln[row * call->q.num_heads + head] = (float)(maximum + log(sum));
}

static int32_t prefill(const RectoAttentionCall* call) {
  if (call->q.type != kRectoFp32) return refuse(&call->context, "other types than fp32");
  if (call->v.head_dim > 512) return refuse(&call->context, "more than 512 dims");
  if (!call->causal || call->window > 0 || call->softcap > 0 || call->alibi_slopes != NULL ||
      call->sinks != NULL)
    return refuse(&call->context, "options");
  const Views views = views_of(call);
  for (int64_t sequence = 0; sequence < call->num_seqs; ++sequence) {
    const int64_t begin = call->query_start == NULL ? sequence : call->query_start[sequence];
    const int64_t end = call->query_start == NULL ? sequence + 1 : call->query_start[sequence + 1];
    for (int64_t row = begin; row < end; ++row)
      for (int64_t head = 0; head < call->q.num_heads; ++head)
        attend(call, &views, sequence, row, head);
  }
  return kRectoOk;
}

static void write_token(const RectoRows* rows, int64_t token, const RectoMutableKvTensor* cache,
                        int64_t slot) {
  for (int64_t head = 0; head < rows->num_heads; ++head) {
    const int64_t to = slot / cache->block_size * cache->block_stride +
                       slot % cache->block_size * cache->slot_stride + head * cache->head_stride;
    const float* const from =
        (const float*)rows->data + token * rows->row_stride + head * rows->head_stride;
    for (int64_t dim = 0; dim < rows->head_dim; ++dim)
      ((float*)cache->data)[to + place_of(dim, cache->pack_width, cache->pack_stride)] = from[dim];
  }
}

static RectoMutableKvTensor written_cache_of(RectoMutableKvTensor cache) {
  if (cache.layout == kRectoPacked) {
    if (is("slots of packs by head dim"))
      cache.slot_stride = cache.head_dim / (cache.head_dim / cache.pack_width);
    return cache;
  }
  cache.block_stride = stride_of(cache.block_stride);
  cache.head_stride = stride_of(cache.head_stride);
  cache.slot_stride = stride_of(cache.slot_stride);
  return cache;
}

static int32_t kv_write(const RectoKvWriteCall* call) {
  if (call->k_cache.type != kRectoFp32) return refuse(&call->context, "other types than fp32");
  const RectoRows k = rows_of(call->k, "dense heads of new k", "dense rows of new k");
  RectoRows v = rows_of(call->v, "dense heads of new v", "dense rows of new v");
  if (is("rows of new v as of k") && k.head_dim == v.head_dim) v.row_stride = k.row_stride;
  const RectoMutableKvTensor k_cache = written_cache_of(call->k_cache);
  const RectoMutableKvTensor v_cache = written_cache_of(call->v_cache);
  for (int64_t token = 0; token < call->num_tokens; ++token) {
    if (call->slot_mapping[token] < 0) continue;
    write_token(&k, token, &k_cache, call->slot_mapping[token]);
    write_token(&v, token, &v_cache, call->slot_mapping[token]);
  }
  return kRectoOk;
}

const RectoKernelTable* recto_kernel_table(void) {
  static const RectoKernelTable kTable = {.struct_bytes = sizeof(RectoKernelTable),
                                          .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                          .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                          .name = "strides",
                                          .memories = kRectoHostMemory,
                                          .prefill = prefill,
                                          .kv_write = kv_write};
  return &kTable;
}
