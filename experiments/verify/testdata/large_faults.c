// The correct kernel of experiments/examples with a fault that shows only at serving sizes.
// RECTO_TEST_FAULT chooses it by name and by the largest size that is still right. "context:512":
// keys from the 513th on are lost. "block:256": so are those from the 257th on where a block has
// more. "sequence:32": from the 33rd sequence on contexts are those of the ones 32 before, where
// they are shorter. "head:4": what belongs to KV heads from the fifth on is that of the four
// before. "q-head:64", "group:8": query heads from the 65th on, or from the ninth of a group on,
// are skipped. "stride:512": rows of the block table are taken to follow each other where a context
// has more than 512 keys. "kv-context:640": KV heads but the first lose keys from the 641st on.
// "batch:1": where there are more sequences, results in fp32 but zeros are an ulp larger.
// "sink:512": rows behind that many keys and more forget their sinks. Behind so many keys, a window
// that is longer than a block begins where its first block does ("window:2048"), or where the split
// of 512 keys behind its first one does ("split-window:2048").
// "low:512": where a context is longer, rows have no result if all of their scores are so low that
// beside a running maximum that begins at -5000 they have no weight.
// "maximum:512", "skip:512": rows of more keys are attended in splits of so many, and put together
// with a maximum that leaves out the last split, or without splits more than 8 below it.
// Chunks of prompts: rows lose their last key in chunks of 13 to 127 rows ("chunk:12"), from the
// 17th row on behind the first sequence ("later-row:16"), from the 129th on where there are two
// sequences ("batch-row:128"), from the 65th on in groups of four and more ("group-row:64"), or
// from the 257th on ("row:256"). "prefix:256": chunks of 128 rows and more behind so many tokens
// lose 64 keys from the 65th row on. "late-row:1280", "draft-row:1280": rows of chunks, or only of
// those of 8 rows at most, lose keys from the 1281st on. "late-window:1280": behind more tokens,
// the windows of all rows of a chunk begin where the last one's does. "after-empty:12": in chunks
// of more rows, those behind a sequence without rows see its keys. "head-dim:32": above it, dims
// beyond the last multiple of 16 are left out of scores. "scale:256": where a context is longer, a
// scale below 0 loses its sign.
// Libraries that only write K and V: nothing is written from the ninth KV head on ("write-head:8"),
// from the 1025th token on ("write-token:1024"), or into larger blocks ("write-block:256").

#include <stdlib.h>

#define recto_kernel_table right_kernel_table
#include "experiments/examples/paged_kernel.c"
#undef recto_kernel_table

enum { kLengths = 4096, kSplit = 512 };

typedef int32_t (*Attention)(const RectoAttentionCall* call);

// The largest size that is still right; without the fault, every size is right.
static int64_t right_until(const char* fault) {
  const char* const asked = getenv("RECTO_TEST_FAULT");
  const size_t name = strlen(fault);
  if (asked == NULL || strncmp(asked, fault, name) != 0 || asked[name] != ':') return INT64_MAX;
  return strtoll(asked + name + 1, NULL, 10);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int32_t shorter_context(const RectoAttentionCall* call, int64_t sequence) {
  int64_t length = least(call->context_length[sequence], right_until("context"));
  if (call->k.block_size > right_until("block")) length = least(length, right_until("block"));
  const int64_t sequences = right_until("sequence");
  if (sequence >= sequences) length = least(length, call->context_length[sequence - sequences]);
  return (int32_t)length;
}

static int move_window(RectoAttentionCall* call, int64_t position) {
  const int64_t begin = position + 1 - call->window;
  if (begin <= 0 || call->window <= call->k.block_size) return 0;
  if (position >= right_until("window")) {
    call->window += begin % call->k.block_size;
    return 1;
  }
  if (position < right_until("split-window")) return 0;
  const int64_t lost = kSplit - begin % kSplit;
  call->window = call->window > lost ? call->window - lost : 1;
  return 1;
}

// Changes the row's visible keys, and returns whether it did. `call` has its own lengths.
static int change_row(RectoAttentionCall* call, int32_t* lengths, Row* at, int64_t rows) {
  const int64_t group = call->q.num_heads / call->k.num_kv_heads;
  const int64_t prefix = lengths[at->sequence] - rows;
  const int64_t row = at->position - prefix;
  if (at->kv_head > 0 && at->position >= right_until("kv-context")) {
    at->position = right_until("kv-context") - 1;
    lengths[at->sequence] = (int32_t)right_until("kv-context");
    return 1;
  }
  const int64_t rows_max = right_until("draft-row") < INT64_MAX ? 8 : INT64_MAX;
  const int64_t keys = least(right_until("late-row"), right_until("draft-row"));
  if (rows > 1 && rows <= rows_max && at->position >= keys) {
    at->position = keys - 1;
    lengths[at->sequence] = (int32_t)keys;
    return 1;
  }
  if (call->window > 0 && prefix > right_until("late-window") && row + 1 < rows) {
    const int64_t window = call->window - (rows - 1 - row);
    call->window = window > 1 ? window : 1;
    return 1;
  }
  if (rows > right_until("after-empty") && at->sequence > 0 &&
      call->query_start[at->sequence] == call->query_start[at->sequence - 1]) {
    --at->sequence;
    at->position = least(at->position, lengths[at->sequence] - 1);
    return 1;
  }
  if (move_window(call, at->position)) return 1;
  if (rows >= 128 && prefix >= right_until("prefix") && row >= 64) {
    const int64_t window = at->position + 1 - 64;
    if (call->window == 0 || call->window > window) call->window = window;
    return 1;
  }
  if (call->sinks != NULL && at->position >= right_until("sink")) {
    call->sinks = NULL;
    return 1;
  }
  const int is_lost = (rows > right_until("chunk") && rows < 128) ||
                      (at->sequence > 0 && row >= right_until("later-row")) ||
                      (call->num_seqs >= 2 && row >= right_until("batch-row")) ||
                      (group >= 4 && row >= right_until("group-row")) || row >= right_until("row");
  if (!is_lost || lengths[at->sequence] == 0) return 0;
  --at->position;
  --lengths[at->sequence];
  return 1;
}

// Attends again in splits, and merges their results wrongly.
static void merge_splits(const RectoAttentionCall* call, const Row* at) {
  const int64_t keys = least(right_until("maximum"), right_until("skip"));
  const int64_t end = call->causal ? at->position + 1 : call->context_length[at->sequence];
  if (end <= keys || end > kLengths || call->window > 0 || call->sinks != NULL) return;
  State parts[kLengths / kSplit + 1];  // the last one is the whole
  memset(parts, 0, sizeof(parts));
  const int64_t last = (end - 1) / keys;
  for (int64_t i = 0; i <= last; ++i) parts[i].maximum = -INFINITY;
  for (int64_t key = 0; key < end; ++key) add_key(call, at, key, &parts[key / keys]);
  const int is_last_seen = right_until("maximum") == INT64_MAX;
  float maximum = -INFINITY;
  for (int64_t i = 0; i < last + is_last_seen; ++i) maximum = fmaxf(maximum, parts[i].maximum);
  State* const whole = &parts[kLengths / kSplit];
  for (int64_t i = 0; i <= last; ++i) {
    if (right_until("skip") < INT64_MAX && parts[i].maximum < maximum - 8) continue;
    raise_maximum(&parts[i], maximum, call->v.head_dim);
    whole->sum += parts[i].sum;
    for (int64_t dim = 0; dim < call->v.head_dim; ++dim) whole->out[dim] += parts[i].out[dim];
  }
  const int64_t out = at->row * call->out.row_stride + at->head * call->out.head_stride;
  for (int64_t dim = 0; dim < call->v.head_dim; ++dim)
    store(call->out.data, call->out.type, out + dim, whole->out[dim] / whole->sum);
  call->lse_ln[at->row * call->q.num_heads + at->head] = maximum + logf(whole->sum);
}

// Attends again for rows with wrong visible keys.
static void change_rows(const RectoAttentionCall* call) {
  int32_t lengths[kLengths];
  const int64_t group = call->q.num_heads / call->k.num_kv_heads;
  for (int64_t s = 0; s < call->num_seqs; ++s) {
    lengths[s] = call->context_length[s];  // also where there are no rows
    const int64_t begin = call->query_start != NULL ? call->query_start[s] : s;
    const int64_t end = call->query_start != NULL ? call->query_start[s + 1] : s + 1;
    for (int64_t i = 0; i < (end - begin) * call->q.num_heads; ++i) {
      const int64_t head = i % call->q.num_heads;
      const int64_t row = begin + i / call->q.num_heads;
      Row at = {.sequence = s,
                .row = row,
                .position = call->context_length[s] - end + row,
                .head = head,
                .kv_head = head / group};
      RectoAttentionCall changed = *call;
      lengths[s] = call->context_length[s];
      changed.context_length = lengths;
      merge_splits(call, &at);
      if (change_row(&changed, lengths, &at, end - begin)) attend(&changed, &at);
    }
  }
}

// The head whose results it uses for this head, or none.
static int64_t head_taken(const RectoAttentionCall* call, int64_t head) {
  const int64_t group = call->q.num_heads / call->k.num_kv_heads;
  if (head >= right_until("q-head") || head % group >= right_until("group")) return -1;
  const int64_t kv_heads = right_until("head");
  return head / group >= kv_heads ? head - kv_heads * group : head;
}

static void mix_heads(const RectoAttentionCall* call) {
  for (int64_t row = 0; row < call->out.num_rows; ++row) {
    for (int64_t head = 0; head < call->q.num_heads; ++head) {
      const int64_t taken = head_taken(call, head);
      if (taken == head) continue;
      const int64_t start = row * call->out.row_stride;
      const int64_t to = start + head * call->out.head_stride;
      const int64_t from = start + taken * call->out.head_stride;
      for (int64_t dim = 0; dim < call->out.head_dim; ++dim) {
        store(call->out.data, call->out.type, to + dim,
              taken < 0 ? 0.0F : load(call->out.data, call->out.type, from + dim));
      }
    }
  }
}

static void round_up(const RectoAttentionCall* call) {
  if (call->num_seqs <= right_until("batch") || call->out.type != kRectoFp32) return;
  for (int64_t row = 0; row < call->out.num_rows; ++row) {
    for (int64_t head = 0; head < call->out.num_heads; ++head) {
      const int64_t first = row * call->out.row_stride + head * call->out.head_stride;
      float* const values = (float*)call->out.data + first;
      for (int64_t dim = 0; dim < call->out.head_dim; ++dim)
        if (values[dim] != 0.0F) values[dim] = nextafterf(values[dim], INFINITY);
    }
  }
}

// Acts like a running maximum that begins at -5000: scores far below it have no weight.
static void lose_low_rows(const RectoAttentionCall* call) {
  for (int64_t s = 0; s < call->num_seqs; ++s) {
    if (call->context_length[s] <= right_until("low")) continue;
    const int64_t begin = call->query_start != NULL ? call->query_start[s] : s;
    const int64_t end = call->query_start != NULL ? call->query_start[s + 1] : s + 1;
    for (int64_t i = begin * call->q.num_heads; i < end * call->q.num_heads; ++i) {
      if (call->lse_ln[i] > -5104.0F) continue;
      call->lse_ln[i] = -INFINITY;
      const int64_t row = i / call->q.num_heads * call->out.row_stride;
      const int64_t first = row + i % call->q.num_heads * call->out.head_stride;
      for (int64_t dim = 0; dim < call->out.head_dim; ++dim)
        store(call->out.data, call->out.type, first + dim, 0.0F);
    }
  }
}

static int32_t run_wrong(const RectoAttentionCall* call, Attention right) {
  if (call->num_seqs > kLengths) return refuse(&call->context, "more than 4096 sequences");
  int32_t lengths[kLengths];
  RectoAttentionCall changed = *call;
  for (int64_t s = 0; s < call->num_seqs; ++s) {
    lengths[s] = shorter_context(call, s);
    if (call->context_length[s] > right_until("scale")) changed.scale = fabsf(call->scale);
    if (lengths[s] > right_until("stride")) changed.block_table_row_stride = call->max_blocks;
  }
  if (call->q.head_dim > right_until("head-dim")) changed.q.head_dim -= call->q.head_dim % 16;
  changed.context_length = lengths;
  const int32_t status = right(&changed);
  if (status == kRectoOk) change_rows(call);
  if (status == kRectoOk) mix_heads(call);
  if (status == kRectoOk) lose_low_rows(call);
  if (status == kRectoOk) round_up(call);
  return status;
}

static int32_t wrong_decode(const RectoAttentionCall* call) { return run_wrong(call, decode); }

static int32_t wrong_prefill(const RectoAttentionCall* call) { return run_wrong(call, prefill); }

static int32_t wrong_kv_write(const RectoKvWriteCall* call) {
  RectoKvWriteCall changed = *call;
  if (call->k_cache.block_size > right_until("write-block")) changed.num_tokens = 0;
  changed.num_tokens = least(changed.num_tokens, right_until("write-token"));
  changed.k.num_heads = least(call->k.num_heads, right_until("write-head"));
  changed.v.num_heads = changed.k.num_heads;
  return kv_write(&changed);
}

const RectoKernelTable* recto_kernel_table(void) {
  static RectoKernelTable table;
  table = *right_kernel_table();
  table.name = "large-faults";
  table.decode = wrong_decode;
  table.prefill = wrong_prefill;
  table.kv_write = wrong_kv_write;
  const char* const fault = getenv("RECTO_TEST_FAULT");
  if (fault != NULL && strncmp(fault, "write-", 6) == 0) table.decode = table.prefill = NULL;
  return &table;
}
