// The correct kernel of experiments/examples with a fault that RECTO_TEST_FAULT chooses. "after
// window": once a call had a window, those without one lose their last key. "first": the first call
// of a process does; "second": the second one does, and with a KV head for each of several query
// heads, "ungrouped" each. "unwritten": the last sequence's row is not written. "only N": call N
// loses its last key, of all processes that count theirs in the file RECTO_TEST_CALLS; "abort N":
// that call ends its process.

#include <stdlib.h>

#define recto_kernel_table right_kernel_table
#include "experiments/examples/paged_kernel.c"
#undef recto_kernel_table

enum { kLengths = 64 };

static int is(const char* fault) {
  const char* const asked = getenv("RECTO_TEST_FAULT");
  return asked != NULL && strcmp(asked, fault) == 0;
}

// The number of this call among those of all processes, from 1 on.
static long counted_call(void) {
  FILE* const calls = fopen(getenv("RECTO_TEST_CALLS"), "ab");
  if (calls == NULL) abort();
  fputc('.', calls);
  const long count = ftell(calls);
  fclose(calls);
  return count;
}

// Whether this is the call whose number follows the word in the fault.
static int is_counted(const char* word) {
  const char* const asked = getenv("RECTO_TEST_FAULT");
  const size_t length = strlen(word);
  return asked != NULL && strncmp(asked, word, length) == 0 &&
         counted_call() == atol(asked + length);
}

static int32_t lose_last_key(const RectoAttentionCall* call) {
  int32_t lengths[kLengths];
  if (call->num_seqs > kLengths) return refuse(&call->context, "more than 64 sequences");
  for (int64_t s = 0; s < call->num_seqs; ++s)
    lengths[s] = call->context_length[s] > 0 ? call->context_length[s] - 1 : 0;
  RectoAttentionCall shorter = *call;
  shorter.context_length = lengths;
  return decode(&shorter);
}

static int32_t wrong_decode(const RectoAttentionCall* call) {
  static int has_had_window = 0;
  static int calls = 0;
  ++calls;
  const int is_ungrouped = call->q.num_heads > 1 && call->q.num_heads == call->k.num_kv_heads;
  if (is("unwritten")) {
    RectoAttentionCall fewer = *call;
    fewer.num_seqs -= fewer.num_seqs > 0;
    return decode(&fewer);
  }
  if (is_counted("abort ")) abort();
  if (is_counted("only ")) return lose_last_key(call);
  if (is("first") && calls == 1) return lose_last_key(call);
  if (is("second") && calls == 2) return lose_last_key(call);
  if (is("ungrouped") && is_ungrouped) return lose_last_key(call);
  if (is("after window") && has_had_window && call->window == 0) return lose_last_key(call);
  if (call->window > 0) has_had_window = 1;
  return decode(call);
}

const RectoKernelTable* recto_kernel_table(void) {
  static RectoKernelTable table;
  table = *right_kernel_table();
  table.name = "first-calls";
  table.decode = wrong_decode;
  return &table;
}
