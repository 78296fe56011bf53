// The kernel of experiments/examples that is right, made wrong at the sizes of servers alone, as
// RECTO_TEST_FAULT says: "context", keys from the 513th on are lost; "sequence", from the 33rd
// sequence on contexts are those of the ones 32 before, where they are shorter; "head", what
// belongs to KV heads from the fifth on is that of the four before; "stride", rows of the block table
// are taken to follow each other where a context has more than 512 keys.

#include <stdlib.h>

#define recto_kernel_table right_kernel_table
#include "experiments/examples/paged_kernel.c"
#undef recto_kernel_table

enum { kKeysMax = 512, kSequencesMax = 32, kKvHeadsMax = 4, kLengths = 4096 };

typedef int32_t (*Attention)(const RectoAttentionCall* call);

static int has_fault(const char* name) {
  const char* const fault = getenv("RECTO_TEST_FAULT");
  return fault != NULL && strcmp(fault, name) == 0;
}

static int32_t shorter_context(const int32_t* lengths, int64_t sequence) {
  const int32_t length = lengths[sequence];
  if (has_fault("context") && length > kKeysMax) return kKeysMax;
  if (!has_fault("sequence") || sequence < kSequencesMax) return length;
  const int32_t other = lengths[sequence - kSequencesMax];
  return other < length ? other : length;
}

static void repeat_heads(const RectoAttentionCall* call) {
  const int64_t heads = call->q.num_heads;
  const int64_t first = heads / call->k.num_kv_heads * kKvHeadsMax;
  for (int64_t row = 0; row < call->out.num_rows; ++row) {
    for (int64_t head = first; head < heads; ++head) {
      const int64_t to = row * call->out.row_stride + head * call->out.head_stride;
      const int64_t from = to - first * call->out.head_stride;
      for (int64_t dim = 0; dim < call->out.head_dim; ++dim) {
        store(call->out.data, call->out.type, to + dim,
              load(call->out.data, call->out.type, from + dim));
      }
    }
  }
}

static int32_t run_wrong(const RectoAttentionCall* call, Attention right) {
  if (call->num_seqs > kLengths) return refuse(&call->context, "more than 4096 sequences");
  int32_t lengths[kLengths];
  RectoAttentionCall changed = *call;
  for (int64_t s = 0; s < call->num_seqs; ++s) {
    lengths[s] = shorter_context(call->context_length, s);
    if (has_fault("stride") && lengths[s] > kKeysMax)
      changed.block_table_row_stride = call->max_blocks;
  }
  changed.context_length = lengths;
  const int32_t status = right(&changed);
  if (status == kRectoOk && has_fault("head")) repeat_heads(call);
  return status;
}

static int32_t wrong_decode(const RectoAttentionCall* call) { return run_wrong(call, decode); }

static int32_t wrong_prefill(const RectoAttentionCall* call) { return run_wrong(call, prefill); }

const RectoKernelTable* recto_kernel_table(void) {
  static RectoKernelTable table;
  table = *right_kernel_table();
  table.name = "large-faults";
  table.decode = wrong_decode;
  table.prefill = wrong_prefill;
  return &table;
}
