// Its description, skips and errors are in Latin-1, so they are not UTF-8.

#include <stdio.h>

#include "verify/library/recto_kernel.h"

static int32_t refuse_or_fail(const RectoAttentionCall* call) {
  const int is_refused = call->num_seqs > 1;
  snprintf(call->context.message, (size_t)call->context.message_bytes, "%s",
           is_refused ? "plusieurs s\351quences" : "d\351faut: toujours le m\352me");
  return is_refused ? kRectoUnsupported : kRectoFailed;
}

const RectoKernelTable* recto_kernel_table(void) {
  static const RectoKernelTable table = {.struct_bytes = sizeof(RectoKernelTable),
                                         .abi_major = RECTO_KERNEL_ABI_MAJOR,
                                         .abi_minor = RECTO_KERNEL_ABI_MINOR,
                                         .name = "\351t\351",
                                         .memories = kRectoHostMemory,
                                         .prefill = refuse_or_fail};
  return &table;
}
