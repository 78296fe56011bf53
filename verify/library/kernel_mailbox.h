#pragma once

// The messages between recto and the process that runs a kernel library, in shared plain memory.
// Only one process uses it while the other one waits.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "verify/library/guarded_arena.h"

namespace recto::verify {

enum class KernelFunction : std::int32_t { kDecode, kPrefill, kKvWrite };

inline constexpr std::array<KernelFunction, 3> kKernelFunctions = {
    KernelFunction::kDecode, KernelFunction::kPrefill, KernelFunction::kKvWrite};

constexpr const char* kernel_function_name(KernelFunction function) {
  constexpr const char* kNames[] = {"decode", "prefill", "kv_write"};
  return kNames[static_cast<int>(function)];
}

// How far loading the library got, in order of the steps.
enum class LoadStep : std::int32_t {
  kLoading,      // dlopen has not returned
  kNotLoaded,    // `text` is the loader's message
  kNoSymbol,     // it does not export recto_kernel_table
  kAskingTable,  // dlopen has returned, recto_kernel_table has not
  kNoTable,      // recto_kernel_table returned null
  kBeginning,    // it takes device memory, and the device is not ready yet
  kNoDevice,     // `text` says why there is no device
  kLoaded
};

// The worker announces these steps and waits for a reply, since each has its own time limit.
constexpr bool is_announced(LoadStep step) {
  return step == LoadStep::kAskingTable || step == LoadStep::kBeginning;
}

// How waiting for the library ended.
enum class KernelEnd : std::int32_t {
  kAnswered,
  kSignal,     // a fault, or another signal
  kExit,       // the library ended its process
  kDevice,     // it left the device in a state that ended its process
  kClosed,     // it closed files that were not its own, and was killed
  kTimeLimit,  // it exceeded its CPU time, and was killed
  // It used less CPU time, but did not return in several times the limit, and was killed:
  kClockLimit,  // it may have waited for the machine
  kHanging      // it waited for something else, and computed nothing
};

constexpr bool is_time_out(KernelEnd end) {
  return end == KernelEnd::kTimeLimit || end == KernelEnd::kClockLimit ||
         end == KernelEnd::kHanging;
}

// The library's table, as far as it extends.
struct LoadedTable {
  std::uint64_t struct_bytes = 0;
  std::int32_t abi_major = 0;
  std::int32_t abi_minor = 0;
  std::uint32_t memories = 0;
  std::uint64_t features = 0;
  char name[64] = {};  // empty if the library has none
  bool has_function[kKernelFunctions.size()] = {};
};

// The signal that ended the library, and its cause.
struct FatalSignal {
  std::int32_t number = 0;  // 0: none
  MemoryFault fault = {};
};

// The size limit for files of the library's process, including standard output and standard error,
// which are in memory: SIGXFSZ ends a process that exceeds it.
inline constexpr std::int64_t kFileBytesMax = std::int64_t{64} << 20;

// How much of what a library prints is kept.
inline constexpr std::size_t kPrintedBytes = 2000;

struct KernelMailbox {
  std::uint32_t memories = 0;  // RectoMemory: what this program can provide
  LoadStep load_step = LoadStep::kLoading;
  char text[512] = {};
  LoadedTable table = {};

  KernelFunction function = KernelFunction::kDecode;
  alignas(16) std::byte call[1024] = {};  // RectoAttentionCall or RectoKvWriteCall
  std::int32_t num_pages = 0;
  OpenPages pages[24] = {};

  std::int32_t returned = 0;
  FatalSignal fatal_signal = {};
  // On a device: a stray write that the hardware did not stop, and a device failure, which ends the
  // process.
  std::optional<MemoryFault> stray_write = {};
  char device_failure[256] = {};

  // Written by a caller at the end of a socket: how the call ended, the returned status, signal
  // number or exit code being in `returned`; what the function printed; and whether stray accesses
  // fault, so that they need not be searched for.
  KernelEnd end = KernelEnd::kAnswered;
  bool has_guards = false;
  char printed[kPrintedBytes] = {};
};

}  // namespace recto::verify
