#include "verify/kernel_abi/kernel_worker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "verify/kernel_abi/recto_kernel.h"

namespace recto::verify {
namespace {

constexpr std::size_t kHandlerStackBytes = 64 << 10;

// Of the handler, which can be handed nothing.
KernelMailbox* mailbox_of_faults = nullptr;

MemoryFault::Kind kind_of([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  // Bit 1 of a page fault's error code: a write.
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0 ? MemoryFault::Kind::kWrite
                                                       : MemoryFault::Kind::kRead;
#else
  return MemoryFault::Kind::kUnknown;
#endif
}

void handle_fatal_signal(int number, siginfo_t* info, void* context) {
  FatalSignal& fatal = mailbox_of_faults->fatal_signal;
  fatal.number = number;
  if (number == SIGSEGV || number == SIGBUS) {
    const bool has_address = info->si_code > 0 && info->si_code != SI_KERNEL;
    fatal.fault.address =
        has_address ? reinterpret_cast<std::uintptr_t>(info->si_addr) : ~std::uintptr_t{0};
    if (has_address) fatal.fault.kind = kind_of(*static_cast<const ucontext_t*>(context));
  }
  _exit(128 + number);
}

void catch_fatal_signals(KernelMailbox* mailbox) {
  static std::byte handler_stack[kHandlerStackBytes];
  mailbox_of_faults = mailbox;
  const stack_t stack = {handler_stack, 0, kHandlerStackBytes};
  sigaltstack(&stack, nullptr);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXFSZ}) {
    struct sigaction action = {};
    action.sa_sigaction = handle_fatal_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(number, &action, nullptr);
  }
}

// Before the handlers that the program had registered when it was forked: they are not meant for
// this process.
void leave_at_once(int status, void* /*nothing*/) {
  fflush(nullptr);
  _exit(status);
}

void enter_process(const WorkerSetup& setup) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit file_limit = {kFileBytesMax, kFileBytesMax};
  setrlimit(RLIMIT_FSIZE, &file_limit);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(setup.printed, STDOUT_FILENO);
  dup2(setup.printed, STDERR_FILENO);
  // What is printed is there, whatever comes next.
  setvbuf(stdout, nullptr, _IONBF, 0);
  on_exit(leave_at_once, nullptr);
  catch_fatal_signals(setup.mailbox);
  setup.arena->enter();
}

void answer(const WorkerSetup& setup) {
  fflush(nullptr);
  const char byte = 0;
  if (write(setup.channel, &byte, 1) != 1) _exit(0);
}

void wait_for_call(const WorkerSetup& setup) {
  char byte = 0;
  if (read(setup.channel, &byte, 1) != 1) _exit(0);
}

template <std::size_t kSize>
void set_text(char (&text)[kSize], const char* words) {
  snprintf(text, kSize, "%s", words == nullptr ? "" : words);
}

// A table as ours, with null for what the library's does not have.
RectoKernelTable table_of(const RectoKernelTable& theirs) {
  RectoKernelTable table = {};
  std::memcpy(&table, &theirs, std::min<std::size_t>(theirs.struct_bytes, sizeof(table)));
  return table;
}

void describe(const RectoKernelTable& table, LoadedTable& loaded) {
  loaded.struct_bytes = table.struct_bytes;
  loaded.abi_major = table.abi_major;
  loaded.abi_minor = table.abi_minor;
  // Of another major version nothing else is known.
  if (table.abi_major != RECTO_KERNEL_ABI_MAJOR) return;
  loaded.memories = table.memories;
  set_text(loaded.name, table.name);
  loaded.has_function[static_cast<int>(KernelFunction::kDecode)] = table.decode != nullptr;
  loaded.has_function[static_cast<int>(KernelFunction::kPrefill)] = table.prefill != nullptr;
  loaded.has_function[static_cast<int>(KernelFunction::kKvWrite)] = table.kv_write != nullptr;
}

// Ends the process once it has told why there is no library.
RectoKernelTable load(const WorkerSetup& setup) {
  KernelMailbox& mailbox = *setup.mailbox;
  const auto fail = [&](LoadStep step, const char* words) {
    set_text(mailbox.text, words);
    mailbox.load_step = step;
    answer(setup);
    _exit(0);
  };
  void* const library = dlopen(setup.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(LoadStep::kNotLoaded, dlerror());
  void* const symbol = dlsym(library, "recto_kernel_table");
  if (symbol == nullptr) fail(LoadStep::kNoSymbol, "");
  mailbox.load_step = LoadStep::kAskingTable;
  const RectoKernelTable* const theirs = reinterpret_cast<decltype(&recto_kernel_table)>(symbol)();
  if (theirs == nullptr) fail(LoadStep::kNoTable, "");
  const RectoKernelTable table = table_of(*theirs);
  describe(table, mailbox.table);
  mailbox.load_step = LoadStep::kLoaded;
  answer(setup);
  return table;
}

std::int32_t call_function(const RectoKernelTable& table, const KernelMailbox& mailbox) {
  const auto* attention = reinterpret_cast<const RectoAttentionCall*>(mailbox.call);
  switch (mailbox.function) {
    case KernelFunction::kDecode:
      return table.decode(attention);
    case KernelFunction::kPrefill:
      return table.prefill(attention);
    case KernelFunction::kKvWrite:
      return table.kv_write(reinterpret_cast<const RectoKvWriteCall*>(mailbox.call));
  }
  return kRectoFailed;
}

}  // namespace

void serve_kernel_calls(const WorkerSetup& setup) {
  enter_process(setup);
  KernelMailbox& mailbox = *setup.mailbox;
  const RectoKernelTable table = load(setup);
  while (true) {
    wait_for_call(setup);
    setup.arena->open_pages({mailbox.pages, static_cast<std::size_t>(mailbox.num_pages)});
    mailbox.returned = call_function(table, mailbox);
    setup.arena->close_pages();
    answer(setup);
  }
}

}  // namespace recto::verify
