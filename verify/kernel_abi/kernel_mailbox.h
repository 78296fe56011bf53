#pragma once

// What recto and the process that runs a kernel library say to each other: plain memory that both
// see. One of them reads while the other one waits.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "verify/kernel_abi/guarded_arena.h"

namespace recto::verify {

enum class KernelFunction : std::int32_t { kDecode, kPrefill, kKvWrite };

inline constexpr std::array<KernelFunction, 3> kKernelFunctions = {
    KernelFunction::kDecode, KernelFunction::kPrefill, KernelFunction::kKvWrite};

constexpr const char* kernel_function_name(KernelFunction function) {
  constexpr const char* kNames[] = {"decode", "prefill", "kv_write"};
  return kNames[static_cast<int>(function)];
}

// What became of loading the library, in the order in which it is tried.
enum class LoadStep : std::int32_t {
  kLoading,      // dlopen has not come back
  kNotLoaded,    // `text` has the loader's words
  kNoSymbol,     // it exports no recto_kernel_table
  kAskingTable,  // recto_kernel_table has not come back
  kNoTable,      // that returned null
  kNoDevice,     // it takes a device's memory, and `text` says why there is none
  kLoaded
};

// The library's table, as far as it goes.
struct LoadedTable {
  std::uint64_t struct_bytes = 0;
  std::int32_t abi_major = 0;
  std::int32_t abi_minor = 0;
  std::uint32_t memories = 0;
  char name[64] = {};  // empty where the library has none
  bool has_function[kKernelFunctions.size()] = {};
};

// The signal that ended the library, and what it was about.
struct FatalSignal {
  std::int32_t number = 0;  // 0: none
  MemoryFault fault = {};
};

// What a file of the library's process may grow to, standard output and standard error among them,
// which lie in memory: SIGXFSZ ends what goes on.
inline constexpr std::int64_t kFileBytesMax = std::int64_t{64} << 20;

struct KernelMailbox {
  std::uint32_t memories = 0;  // RectoMemory: what this program can hand over
  LoadStep load_step = LoadStep::kLoading;
  char text[512] = {};
  LoadedTable table = {};

  KernelFunction function = KernelFunction::kDecode;
  alignas(16) std::byte call[1024] = {};  // RectoAttentionCall or RectoKvWriteCall
  std::int32_t num_pages = 0;
  OpenPages pages[24] = {};

  std::int32_t returned = 0;
  FatalSignal fatal_signal = {};
  // On a device: a write that nothing stopped, and what the device came to, which ends the process.
  std::optional<MemoryFault> stray_write = {};
  char device_failure[256] = {};
};

}  // namespace recto::verify
