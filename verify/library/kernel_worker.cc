#include "verify/library/kernel_worker.h"

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
#include <vector>

#include "verify/library/device_call_structs.h"
#include "verify/library/device_copies.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {
namespace {

constexpr std::size_t kHandlerStackBytes = 64 << 10;

// A global for the signal handler, which takes no argument.
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

// Runs before the exit handlers that the program registered before the fork, which are not meant
// for this process.
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
  // Unbuffered, so that printed text is available even after a crash.
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

// The library's table, completed to our version with null for missing entries.
RectoKernelTable table_of(const RectoKernelTable& theirs) {
  RectoKernelTable table = {};
  std::memcpy(&table, &theirs, std::min<std::size_t>(theirs.struct_bytes, sizeof(table)));
  return table;
}

void describe(const RectoKernelTable& table, LoadedTable& loaded) {
  loaded.struct_bytes = table.struct_bytes;
  loaded.abi_major = table.abi_major;
  loaded.abi_minor = table.abi_minor;
  // Other fields are unknown in another major version.
  if (table.abi_major != RECTO_KERNEL_ABI_MAJOR) return;
  loaded.memories = table.memories;
  loaded.features = table.features;
  set_text(loaded.name, table.name);
  loaded.has_function[static_cast<int>(KernelFunction::kDecode)] = table.decode != nullptr;
  loaded.has_function[static_cast<int>(KernelFunction::kPrefill)] = table.prefill != nullptr;
  loaded.has_function[static_cast<int>(KernelFunction::kKvWrite)] = table.kv_write != nullptr;
}

bool takes_device_memory(const WorkerSetup& setup, const RectoKernelTable& table) {
  return setup.device != nullptr && (table.memories & kRectoDeviceMemory) != 0;
}

// If there is no library, reports why and ends the process.
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
  const auto announce = [&](LoadStep step) {
    mailbox.load_step = step;
    answer(setup);
    wait_for_call(setup);
  };
  announce(LoadStep::kAskingTable);
  const RectoKernelTable* const theirs = reinterpret_cast<decltype(&recto_kernel_table)>(symbol)();
  if (theirs == nullptr) fail(LoadStep::kNoTable, "");
  const RectoKernelTable table = table_of(*theirs);
  describe(table, mailbox.table);
  if (takes_device_memory(setup, table)) {
    announce(LoadStep::kBeginning);
    const char* const why = setup.device->begin();
    if (why != nullptr) fail(LoadStep::kNoDevice, why);
  }
  mailbox.load_step = LoadStep::kLoaded;
  answer(setup);
  return table;
}

// `call` is a RectoAttentionCall or a RectoKvWriteCall.
std::int32_t call_function(const RectoKernelTable& table, KernelFunction function,
                           const void* call) {
  switch (function) {
    case KernelFunction::kDecode:
      return table.decode(static_cast<const RectoAttentionCall*>(call));
    case KernelFunction::kPrefill:
      return table.prefill(static_cast<const RectoAttentionCall*>(call));
    case KernelFunction::kKvWrite:
      return table.kv_write(static_cast<const RectoKvWriteCall*>(call));
  }
  return kRectoFailed;
}

// Ends the process if the device has failed, since it can no longer be used.
void end_if_wrong(const WorkerSetup& setup) {
  const char* const why = setup.device->finish();
  if (why == nullptr) return;
  fflush(nullptr);
  set_text(setup.mailbox->device_failure, why);
  _exit(0);
}

// Calls with copies on the device. Meanwhile the arena is closed, except for the message.
std::int32_t call_on_device(const WorkerSetup& setup, const RectoKernelTable& table,
                            std::span<const OpenPages> pages) {
  KernelMailbox& mailbox = *setup.mailbox;
  DeviceCallStruct call(mailbox.function, mailbox.call);
  OpenPages message = {};
  std::vector<OpenPages> others;
  const std::int64_t message_at =
      reinterpret_cast<std::byte*>(call.context().message) - setup.arena->theirs();
  for (const OpenPages& open : pages) {
    const bool is_message = open.begin <= message_at && message_at < open.end;
    if (is_message) message = open;
    if (!is_message) others.push_back(open);
  }
  setup.arena->open_pages(pages);
  DeviceCopies copies(*setup.device, *setup.arena, others);
  if (!copies.are_there()) {
    // The cause may also be an earlier error rather than a lack of room.
    end_if_wrong(setup);
    snprintf(call.context().message, static_cast<std::size_t>(call.context().message_bytes),
             "the device has no room for the call's memory");
    return kRectoUnsupported;
  }
  call.move([&copies](const void* address) { return copies.moved(address); });
  end_if_wrong(setup);
  setup.arena->close_pages();
  setup.arena->open_pages({&message, 1});
  const std::int32_t returned = call_function(table, mailbox.function, call.bytes());
  end_if_wrong(setup);
  setup.arena->open_pages(others);
  mailbox.stray_write = copies.take_back();
  end_if_wrong(setup);
  return returned;
}

}  // namespace

void serve_kernel_calls(const WorkerSetup& setup) {
  enter_process(setup);
  KernelMailbox& mailbox = *setup.mailbox;
  const RectoKernelTable table = load(setup);
  while (true) {
    wait_for_call(setup);
    const std::span pages(mailbox.pages, static_cast<std::size_t>(mailbox.num_pages));
    mailbox.stray_write.reset();
    if (takes_device_memory(setup, table)) {
      mailbox.returned = call_on_device(setup, table, pages);
    } else {
      setup.arena->open_pages(pages);
      mailbox.returned = call_function(table, mailbox.function, mailbox.call);
    }
    setup.arena->close_pages();
    answer(setup);
  }
}

}  // namespace recto::verify
