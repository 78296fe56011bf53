#pragma once

// A finding: an error in a kernel, or in how it was launched. Also how messages name places in the
// source, threads and memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "verify/simt/executor/kernel_thread.h"

namespace recto::simt {

enum class Check : std::uint8_t {
  kInvalidLaunch,      // too many threads, too much shared memory, an invalid pointer argument
  kBarrierDivergence,  // threads of one block at different barriers, or some at none
  kExitBeforeBarrier,
  kWarpMask,       // a lane not in its own mask, or lanes that disagree about the mask
  kShuffleSource,  // a value taken from a lane that does not take part
  kDeadlock,       // every thread waits for something that cannot happen
  kNeverEnds,
  kOutOfBounds,
  kLogicalBounds,  // inside the buffer, but another sequence's
  kMisaligned,
  kReadOnly,       // a write to a buffer registered as read-only
  kUninitialised,  // a read of memory that was never written
  kRace,
  kGridRace,        // the same between thread blocks of one launch
  kUnfinishedCopy,  // memory that an asynchronous copy still writes, or a copy without a wait
  kMbarrier,        // an mbarrier that is uninitialised, overwritten, or has too many arrivals
  kAssertion,       // the kernel gave up: assert, __trap
  kFault,           // a machine fault at an access
  kUnobserved,      // the observer that checks accesses saw none of a launch
  kScheduleDependence,
  kMissingDependency,  // two unordered operations of a stream's host program
};

const char* check_name(Check check);

// A place in a kernel: a call's own site, or an instruction's address, which is turned into text
// when the launch is over.
struct CodePlace {
  Site site = {};
  std::uintptr_t instruction = 0;

  // "cuda/kernels/a.cuh:17"; for an instruction address, the place in the innermost inlined
  // function if addr2line (of binutils) and debug information know it, else "module+0x1234". Empty
  // if nothing is known. Starts a process for each new address, so it must not be used on a fiber.
  std::string text() const;

  friend bool operator==(const CodePlace&, const CodePlace&) = default;
};

// A thread of a launch.
struct ThreadPlace {
  Dim3 block_index = {0, 0, 0};
  Dim3 thread_index = {0, 0, 0};
  unsigned linear = 0;

  std::string text() const;  // "thread 33 (warp 1, lane 1) of block (2, 0, 0)"
};

// A piece of memory with a name.
struct NamedMemory {
  std::string name;
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

// "k_cache+64", or the nearer of "memory 4 bytes past the end of k_cache (1280 bytes)" and "memory
// 4 bytes before ...". `before` begins at or before the address, `behind` after it. Empty if
// neither is near.
std::string address_text(std::uintptr_t address, const std::optional<NamedMemory>& before,
                         const std::optional<NamedMemory>& behind);

// "reads 4 bytes of k_cache+64".
std::string access_text(const char* verb, std::size_t bytes, const std::string& place);

struct Finding {
  Check check = Check::kInvalidLaunch;
  std::string kernel = {};  // empty for findings in the host program
  std::optional<ThreadPlace> thread = {};
  CodePlace place = {};
  std::string what = {};  // the event, with addresses by name
  // The other thread of a race, or the one at another barrier.
  std::optional<ThreadPlace> other_thread = {};
  CodePlace other_place = {};
  std::string other_what = {};

  // "race in kernel 'merge': a.cuh:17: thread ... reads ...; b.cuh:9: thread ... wrote it".
  std::string text() const;
};

}  // namespace recto::simt
