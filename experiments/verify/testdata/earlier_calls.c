// The kernel of experiments/examples that is right, made wrong by what earlier calls have left in
// it, as RECTO_TEST_FAULT says. "plan": it keeps the lengths of the contexts while the numbers of
// sequences and rows and the longest context stay. "window": once a call had a window, the outputs
// of those without one are too large by 1.

#include <stdlib.h>

#define recto_kernel_table right_kernel_table
#include "experiments/examples/paged_kernel.c"
#undef recto_kernel_table

enum { kLengths = 4096 };

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

static int32_t run_wrong(const RectoAttentionCall* call, Attention right) {
  static int has_had_window = 0;
  const int32_t status = is("plan") ? run_planned(call, right) : right(call);
  if (status != kRectoOk) return status;
  if (call->window > 0) has_had_window = 1;
  if (is("window") && has_had_window && call->window == 0) add_one(call);
  return status;
}

static int32_t wrong_decode(const RectoAttentionCall* call) { return run_wrong(call, decode); }

static int32_t wrong_prefill(const RectoAttentionCall* call) { return run_wrong(call, prefill); }

const RectoKernelTable* recto_kernel_table(void) {
  static RectoKernelTable table;
  table = *right_kernel_table();
  table.name = "earlier-calls";
  table.decode = wrong_decode;
  table.prefill = wrong_prefill;
  return &table;
}
