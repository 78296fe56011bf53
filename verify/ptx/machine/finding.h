#pragma once

// A finding: an error in a kernel, or in how it was launched.

#include <cstdint>
#include <optional>
#include <string>

namespace recto::ptx {

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  Dim3 at(std::uint64_t linear) const {
    return {static_cast<std::uint32_t>(linear % x), static_cast<std::uint32_t>(linear / x % y),
            static_cast<std::uint32_t>(linear / x / y)};
  }
  std::string text() const;  // "(1, 2, 3)"
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

enum class Check : std::uint8_t {
  kInvalidLaunch,      // too many threads, too much shared memory, missing arguments
  kBarrierDivergence,  // threads of a block at different barriers, or some at none
  kExitBeforeBarrier,
  kWarpMask,       // a lane outside its own mask, or lanes that never arrive
  kShuffleSource,  // a value from a lane that does not take part
  kNeverEnds,
  kOutOfBounds,
  kLogicalBounds,  // in the buffer, but not in the thread block's pieces of it
  kMisaligned,
  kReadOnly,
  kUninitialisedMemory,
  kUndefinedRegister,
  kRace,      // between threads of a block
  kGridRace,  // between thread blocks
  kUnfinishedCopy,
  kProxyFence,  // a write that the asynchronous proxy may not see yet
  kMbarrier,    // one that is not there, or that is misused
  kDeadlock,    // an mbarrier whose phase never ends
  kWarpgroup,   // a product whose registers are touched too early, or whose warps differ
  kTensorMap,   // bytes that are none, or one of another rank
  kAssertion,   // __assertfail, trap
  kRefused,     // what the executor cannot run, found while it runs
};

const char* check_name(Check check);

// A place in a kernel: its source line where the module has .loc lines, and its line in the PTX.
struct CodePlace {
  std::string file = {};
  std::uint32_t line = 0;
  std::string inlined_at = {};  // Sources::calls_text()
  std::uint32_t ptx_line = 0;
  std::string instruction = {};

  // "load.cuh:12, inlined at decode.cu:40 (PTX line 345, ld.shared.f32)"
  std::string text() const;
  friend bool operator==(const CodePlace&, const CodePlace&) = default;
};

struct ThreadPlace {
  Dim3 block = {0, 0, 0};
  Dim3 thread = {0, 0, 0};
  std::uint32_t linear = 0;

  std::string text() const;  // "thread 33 (warp 1, lane 1) of block (2, 0, 0)"
};

struct Finding {
  Check check = Check::kInvalidLaunch;
  std::string kernel = {};
  std::optional<ThreadPlace> thread = {};
  CodePlace place = {};
  std::string what = {};  // the event, with memory by name
  // The other party of a race, or a thread at another barrier.
  std::optional<ThreadPlace> other_thread = {};
  CodePlace other_place = {};
  std::string other_what = {};

  // A race of a store with itself, by two threads of a thread block.
  bool is_of_one_store() const;
  // "race in kernel 'merge': a.cu:17 (...): thread ... reads ...; b.cu:9 (...): thread ... wrote
  // it"
  std::string text() const;
};

}  // namespace recto::ptx
