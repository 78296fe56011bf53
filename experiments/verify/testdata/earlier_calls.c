// The correct kernel of experiments/examples with a fault that depends on state left by earlier
// calls; RECTO_TEST_FAULT chooses it. "plan": it keeps the lengths of the contexts while the
// numbers of sequences and rows and the longest context stay. "window": once a call had a window,
// the outputs of those without one are too large by 1. "write-plan": KV writes keep their slots
// while the number of tokens and the pool's shape stay. "deadlock", "spin": each 20th call waits,
// or computes, for ever. "sleep": right, but each call sleeps for 0.2 s. Two that depend on the
// call alone: "rare-spin" computes for ever where a context has 23 keys; it, and "print", which
// says so, make outputs too large by 1 where there is a window.

#include <stdlib.h>
#include <unistd.h>

#define recto_kernel_table right_kernel_table
#include "experiments/examples/paged_kernel.c"
#undef recto_kernel_table

enum { kLengths = 4096, kSlots = 8192 };

typedef int32_t (*Attention)(const RectoAttentionCall* call);

static int is(const char* fault) {
  const char* const asked = getenv("RECTO_TEST_FAULT");
  return asked != NULL && strcmp(asked, fault) == 0;
}

static int32_t run_planned(const RectoAttentionCall* call, Attention right) {
  static int64_t num_seqs = -1;
  static int64_t num_rows = -1;
  static int64_t longest = -1;
  static int32_t lengths[kLengths];
  if (call->num_seqs > kLengths) return refuse(&call->context, "more than 4096 sequences");
  if (call->num_seqs != num_seqs || call->q.num_rows != num_rows ||
      call->max_context_length != longest) {
    num_seqs = call->num_seqs;
    num_rows = call->q.num_rows;
    longest = call->max_context_length;
    memcpy(lengths, call->context_length, (size_t)num_seqs * sizeof(int32_t));
  }
  RectoAttentionCall planned = *call;
  planned.context_length = lengths;
  return right(&planned);
}

static void add_one(const RectoAttentionCall* call) {
  for (int64_t row = 0; row < call->out.num_rows; ++row) {
    for (int64_t head = 0; head < call->out.num_heads; ++head) {
      const int64_t first = row * call->out.row_stride + head * call->out.head_stride;
      for (int64_t i = first; i < first + call->out.head_dim; ++i)
        store(call->out.data, call->out.type, i, load(call->out.data, call->out.type, i) + 1.0F);
    }
  }
}

// The side effect of a call.
static void dawdle(void) {
  static int64_t calls = 0;
  static volatile int for_ever = 1;
  ++calls;
  if (is("sleep")) usleep(200 * 1000);
  if (is("deadlock") && calls % 20 == 0)
    for (;;) pause();
  if (is("spin") && calls % 20 == 0)
    while (for_ever) continue;
}

static int32_t run_wrong(const RectoAttentionCall* call, Attention right) {
  static int has_had_window = 0;
  dawdle();
  for (int64_t s = 0; s < call->num_seqs; ++s)
    while (is("rare-spin") && call->context_length[s] == 23) continue;
  const int32_t status = is("plan") ? run_planned(call, right) : right(call);
  if (status != kRectoOk) return status;
  if (call->window > 0) has_had_window = 1;
  if (is("window") && has_had_window && call->window == 0) add_one(call);
  if ((is("rare-spin") || is("print")) && call->window > 0) add_one(call);
  if (is("print") && call->window > 0) printf("\033[1ma window\033[0m\tof keys\n");
  return status;
}

static int32_t wrong_decode(const RectoAttentionCall* call) { return run_wrong(call, decode); }

static int32_t wrong_prefill(const RectoAttentionCall* call) { return run_wrong(call, prefill); }

static int32_t wrong_kv_write(const RectoKvWriteCall* call) {
  static int64_t planned[4] = {-1, -1, -1, -1};
  static int64_t slots[kSlots];
  const int64_t sizes[4] = {call->num_tokens, call->k_cache.num_blocks, call->k_cache.block_size,
                            call->k_cache.block_stride};
  dawdle();
  if (!is("write-plan")) return kv_write(call);
  if (call->num_tokens > kSlots) return refuse(&call->context, "more than 8192 tokens");
  if (memcmp(planned, sizes, sizeof(sizes)) != 0) {
    memcpy(planned, sizes, sizeof(sizes));
    memcpy(slots, call->slot_mapping, (size_t)call->num_tokens * sizeof(int64_t));
  }
  RectoKvWriteCall kept = *call;
  kept.slot_mapping = slots;
  return kv_write(&kept);
}

const RectoKernelTable* recto_kernel_table(void) {
  static RectoKernelTable table;
  table = *right_kernel_table();
  table.name = "earlier-calls";
  table.decode = wrong_decode;
  table.prefill = wrong_prefill;
  table.kv_write = wrong_kv_write;
  return &table;
}
