// Contains the fault that RECTO_TEST_FAULT names; without it, writes zeros everywhere.

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verify/library/recto_kernel.h"

static int is(const char* fault) {
  const char* const wanted = getenv("RECTO_TEST_FAULT");
  return wanted != NULL && strcmp(wanted, fault) == 0;
}

static void write_zeros(const RectoAttentionCall* call) {
  const int64_t bytes = call->out.type == kRectoFp32 ? 4 : 2;
  for (int64_t row = 0; row < call->out.num_rows; ++row) {
    for (int64_t head = 0; head < call->out.num_heads; ++head) {
      const int64_t first = row * call->out.row_stride + head * call->out.head_stride;
      memset((char*)call->out.data + first * bytes, 0, (size_t)(call->out.head_dim * bytes));
    }
  }
  for (int64_t i = 0; i < call->q.num_rows * call->q.num_heads; ++i) call->lse_ln[i] = 0;
}

static volatile int64_t sink = 0;

static int64_t overflow_stack(int64_t depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return overflow_stack(depth + 1) + frame[0];
}

static void access_memory(const RectoAttentionCall* call) {
  if (is("null pointer")) *(volatile int*)NULL = 1;
  // Reaches the page before or after, wherever in its pages the buffer lies.
  if (is("read beyond table")) sink = call->block_table[call->num_seqs * 2048];
  if (is("read before table")) sink = call->block_table[-2048];
  if (is("write beyond lse")) call->lse_ln[2048] = 1;
  if (is("write beside lse")) {
    call->lse_ln[-1] = 1;
    call->lse_ln[call->q.num_rows * call->q.num_heads] = 1;
  }
  if (is("write context_length")) ((int32_t*)(uintptr_t)call->context_length)[1] = 7;
  if (is("write gap")) {
    ((float*)call->out.data)[call->out.num_heads * call->out.head_dim + 3] = 1;
  }
  if (is("write head gap")) ((float*)call->out.data)[call->out.head_dim + 3] = 1;
  if (is("write far away")) *(volatile char*)0x123456789000 = 1;
}

// Copies the first number of the call's first block, with a right or a 32-bit offset.
static void copy_first_key(const RectoAttentionCall* call) {
  if (call->k.type != kRectoFp32 || call->q.num_rows == 0 || call->context_length[0] == 0) return;
  const int64_t offset = call->block_table[0] * call->k.block_stride;
  const float* const k = call->k.data;
  if (is("right offsets")) *(float*)call->out.data = k[offset];
  if (is("narrow offsets")) *(float*)call->out.data = k[(int32_t)offset];
}

static void print_without_end(void) {
  static char line[4096];
  memset(line, '-', sizeof(line) - 1);
  for (;;) puts(line);
}

// Loops only in the first process that gets here, which leaves a file behind.
static void loop_once(void) {
  if (access(getenv("RECTO_TEST_SEEN"), F_OK) == 0) return;
  fclose(fopen(getenv("RECTO_TEST_SEEN"), "w"));
  while (sink == 0) {
  }
}

static void end_process(void) {
  if (is("exit")) exit(0);
  if (is("_exit")) _exit(3);
  if (is("abort")) abort();
  if (is("kill")) kill(getpid(), SIGKILL);
  if (is("divide")) sink = 1000 / sink;
  if (is("stack")) sink = overflow_stack(0);
  if (is("close everything")) {
    for (int file = 3; file < 64; ++file) close(file);
    for (;;) pause();
  }
  if (is("loop")) {
    while (sink == 0) {
    }
  }
  if (is("wait for 1.5 s")) usleep(1500 * 1000);
  if (is("wait for ever")) {
    for (;;) pause();
  }
  if (is("loop once")) loop_once();
  if (is("print without end")) print_without_end();
  if (is("child keeps looping")) {
    if (fork() == 0) {
      for (;;) pause();
    }
    abort();
  }
}

// On a device, all addresses except the message's are device addresses; the host's q lies after the
// message.
static void mix_memories(const RectoAttentionCall* call) {
  if (is("change table")) ((int32_t*)(uintptr_t)call->block_table)[0] ^= 1;
  if (is("read the host's q")) {
    const uintptr_t page = (uintptr_t)call->context.message / 4096 * 4096;
    sink = *(const volatile char*)(page + 4096 + (16 << 20));
  }
}

static int32_t say(const RectoCallContext* context, const char* words, int32_t status) {
  snprintf(context->message, (size_t)context->message_bytes, "%s", words);
  return status;
}

static int32_t prefill(const RectoAttentionCall* call) {
  if (is("print and abort")) {
    printf("about to\nfail");
    fprintf(stderr, "!\n");
    abort();
  }
  // A NaN counts as unwritten, any other number as a partial sum.
  const int has_sum = call->q.num_rows > 0 && call->lse_ln[0] == call->lse_ln[0];
  write_zeros(call);
  if (is("trust what stands there") && has_sum) call->lse_ln[0] = 1;
  copy_first_key(call);
  access_memory(call);
  mix_memories(call);
  end_process();
  if (is("abort on long contexts") && call->max_context_length > 5) abort();
  if (is("loop on long contexts") && call->max_context_length > 5) {
    while (sink == 0) {
    }
  }
  if (is("loop once on long contexts") && call->max_context_length > 5) loop_once();
  if (is("three faults")) {
    if (call->num_seqs > 2) abort();
    while (call->num_seqs == 2 && sink == 0) {
    }
    return say(&call->context, "one sequence", 99);
  }
  if (is("print")) printf("a\tb\033[31m\r\n\302\233c\303\244\n");
  if (is("unsupported")) return say(&call->context, "soft caps", kRectoUnsupported);
  if (is("unsupported without a word")) return kRectoUnsupported;
  if (is("unsupported in colours"))
    return say(&call->context, "\033[31mno\nmatter\n", kRectoUnsupported);
  if (is("failed by a race"))
    return say(&call->context, "race in kernel 7 of fp16: row 12 is written twice", kRectoFailed);
  if (is("failed in two lines"))
    return say(&call->context, "race: row 1\nrace: row 2\n", kRectoFailed);
  if (is("failed in printed lines")) {
    fputs("race: row 1\nrace: row 2\n", stderr);
    return say(&call->context, "race: row 1\nrace: row 2", kRectoFailed);
  }
  if (is("failed in many")) {
    char lines[1024];
    for (size_t i = 0; i < sizeof lines; ++i) lines[i] = "race of row\n"[i % 12];
    lines[sizeof lines - 1] = 0;
    fputs(lines, stderr);
    return say(&call->context, lines, kRectoFailed);
  }
  if (is("failed in less")) {
    fputs("race: row 12\n", stderr);
    return say(&call->context, "race: row 1", kRectoFailed);
  }
  if (is("failed")) return say(&call->context, "out of shared memory", kRectoFailed);
  if (is("status 7")) return 7;
  return kRectoOk;
}

#ifndef RECTO_TEST_MEMORIES
#define RECTO_TEST_MEMORIES kRectoHostMemory
#endif

static RectoKernelTable table = {.struct_bytes = sizeof(RectoKernelTable),
                                 .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                 .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                 .name = "faults",
                                 .memories = RECTO_TEST_MEMORIES,
                                 .prefill = prefill};

const RectoKernelTable* recto_kernel_table(void) {
  if (is("no table")) return NULL;
  if (is("next major version")) ++table.abi_major;
  if (is("next minor version")) {
    ++table.abi_minor;
    table.struct_bytes += 64;
  }
  if (is("short table")) table.struct_bytes = offsetof(RectoKernelTable, kv_write);
  if (is("without lse")) table.features = kRectoWithoutLseLn;
  if (is("unknown feature")) table.features = 4;
  // Behind a table of version 1.0, whatever is there is no field of it.
  if (is("version 1.0")) {
    table.struct_bytes = offsetof(RectoKernelTable, features);
    table.features = 4;
  }
  if (is("no function")) table.prefill = NULL;
  if (is("no name")) table.name = NULL;
  if (is("name with colours")) table.name = "faults\033[31m";
  if (is("device memory")) table.memories = kRectoDeviceMemory;
  if (is("no memory")) table.memories = 0;
  if (is("abort in table")) abort();
  if (is("loop in table")) {
    while (sink == 0) {
    }
  }
  return &table;
}

__attribute__((constructor)) static void when_loaded(void) {
  if (is("abort when loaded")) abort();
  if (is("loop when loaded")) {
    while (sink == 0) {
    }
  }
}
