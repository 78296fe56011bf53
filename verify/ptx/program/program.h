#pragma once

// A kernel that is ready to run: steps, the layout of a warp's registers, and of the memory that
// the kernel itself declares.

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/ptx/arithmetic/mma.h"
#include "verify/ptx/arithmetic/wgmma.h"
#include "verify/ptx/lanes/step.h"
#include "verify/ptx/text/scalar_type.h"
#include "verify/ptx/text/syntax_tree.h"

namespace recto::ptx {

enum class MemorySpace : std::uint8_t {
  kGeneric,
  kGlobal,
  kConst,
  kShared,
  kSharedCluster,  // of any thread block of the cluster
  kLocal,
  kParam,
};

// Generic addresses: the upper byte is 0 for the host's addresses, which are global and constant
// memory, and else the window of another space.
inline constexpr unsigned kWindowShift = 56;
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{1} << kWindowShift;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{2} << kWindowShift;
inline constexpr std::uint64_t kParamWindow = std::uint64_t{3} << kWindowShift;
// Shared variables begin here, as on sm_90, so that null points to none.
inline constexpr std::uint32_t kSharedBegin = 1024;
// The thread block of an address in shared memory: its rank in the cluster and one, or 0 for the
// own.
inline constexpr unsigned kRankShift = 24;
inline constexpr std::uint32_t kRankMask = 0xff000000;
inline constexpr std::uint32_t kLocalBegin = 64;

// [a + offset]
struct MemoryOperand {
  MemorySpace space = MemorySpace::kGeneric;
  Width address_width = 8;
  ValuePlace address = kNoValue;
  std::int64_t offset = 0;
  std::uint32_t site = 0;  // its number in the program
};

enum class AtomicOperation : std::uint8_t {
  kAdd,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kExchange,
  kCompareAndSwap,
  kIncrement,
  kDecrement,
};

// .relaxed and weaker; or what orders other accesses.
enum class Ordering : std::uint8_t { kWeak, kRelaxed, kAcquire, kRelease, kAcquireRelease };

enum class ShuffleMode : std::uint8_t { kUp, kDown, kButterfly, kIndex };
enum class VoteMode : std::uint8_t { kAll, kAny, kUniform, kBallot };
enum class BarrierMode : std::uint8_t { kSync, kArrive, kPopulation, kAnd, kOr };

// Operations on mbarriers. kTest and kTry read parities or states.
enum class MbarrierMode : std::uint8_t {
  kInit,
  kInvalidate,
  kArrive,
  kArriveDrop,
  kExpect,
  kComplete,
  kTest,
  kTry,
  kCopyArrive,  // cp.async.mbarrier.arrive
};

struct MbarrierForm {
  MbarrierMode mode = MbarrierMode::kInit;
  bool expects = false;  // .expect_tx: the operand counts bytes
  bool is_complete_forbidden = false;
  bool is_parity = false;
  bool is_relaxed = false;
  bool increments = false;  // kCopyArrive without .noinc
};

// A bulk copy, of bytes or of a box of a tensor, from or to shared memory.
struct BulkForm {
  bool is_to_shared = true;
  bool is_multicast = false;
  std::vector<ValuePlace> coordinates = {};  // of a tensor
};

// What an action needs beside the step's own fields.
struct Detail {
  MemoryOperand memory = {};
  MemoryOperand source = {};  // of an asynchronous copy: memory, or a tensor map
  MemoryOperand signal = {};  // the mbarrier of a bulk copy
  std::vector<ValuePlace> defs = {};
  std::vector<ValuePlace> uses = {};
  std::uint8_t element_bytes = 0;
  Width width = 0;  // of the registers
  bool is_signed = false;
  bool is_transposed = false;    // ldmatrix, stmatrix
  bool is_aligned = true;        // barriers
  bool is_of_block = false;      // fences, atomic accesses: their scope is the block alone
  bool is_proxy = false;         // fences: of the asynchronous proxy
  bool is_wait_for_all = false;  // cp.async.wait_all: for copies that are not committed, too
  bool is_for_reads = false;     // waits of bulk groups: for their sources only
  ScalarType type = ScalarType::kB32;
  AtomicOperation atomic = AtomicOperation::kAdd;
  Ordering ordering = Ordering::kWeak;
  ShuffleMode shuffle = ShuffleMode::kIndex;
  VoteMode vote = VoteMode::kAll;
  BarrierMode barrier = BarrierMode::kSync;
  MmaShape product = {};
  WgmmaShape warpgroup = {};  // defs: the sums; uses: the same, then registers of A
  Major major_a = Major::kK;
  Major major_b = Major::kK;
  MbarrierForm mbarrier = {};
  BulkForm bulk = {};
  std::uint64_t count = 0;  // bytes of a copy, groups to wait for, matrices
  std::vector<std::uint32_t> targets = {};
};

// What a constant row is filled with.
enum class SpecialValue : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNumWarps,
  kSmId,
  kNumSm,
  kGridId,
  kLaneMaskEq,
  kLaneMaskLe,
  kLaneMaskLt,
  kLaneMaskGe,
  kLaneMaskGt,
  kDynamicSharedBytes,
  kTotalSharedBytes,
  kGridWorkspaceLow,
  kGridWorkspaceHigh,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusterCtarank,
  kClusterNctarank,
  kClusteridX,
  kClusteridY,
  kClusteridZ,
  kNclusteridX,
  kNclusteridY,
  kNclusteridZ,
  kIsExplicitCluster,
  kCount,
};

struct SpecialRow {
  ValuePlace place = 0;
  Width width = 4;
  SpecialValue value = SpecialValue::kTidX;
};

// A constant row with a kernel argument, or a part of one.
struct ArgumentRow {
  ValuePlace place = 0;
  Width width = 0;
  std::uint32_t offset = 0;
  std::uint8_t bytes = 0;
  bool is_signed = false;
};

// A named piece of shared, local or parameter memory.
struct NamedPiece {
  std::string name;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

// A step that computes approximately, and the function whose results are off by the documented
// error.
struct ApproximateStep {
  std::uint32_t step = 0;
  LaneFunction perturbed = nullptr;
};

// A step that touches a register of an asynchronous product, and the product.
struct RegisterTouch {
  std::uint32_t step = 0;
  std::uint32_t product = 0;
  bool is_before = false;  // no wgmma.fence is between it and the product; else no complete wait

  auto operator<=>(const RegisterTouch&) const = default;
};

struct Program {
  std::string kernel;
  std::uint32_t threads_max = 0;              // 0: not given
  std::array<std::uint32_t, 3> threads = {};  // of each thread block; 0: not given
  std::array<std::uint32_t, 3> cluster = {};  // thread blocks; 0: not given
  std::vector<Step> steps;
  std::vector<Detail> details;
  std::uint32_t num_sites = 0;            // operands in memory
  std::vector<text::Place> places;        // of steps
  std::vector<std::string> instructions;  // their text, by the same index
  // Registers of a warp: rows, then predicates.
  std::uint32_t register_bytes = 0;
  std::vector<std::byte> image;  // with constants
  std::vector<SpecialRow> specials;
  std::vector<ArgumentRow> arguments;
  ValuePlace scratch_d = 0;  // 256 bytes each, for results of masked steps
  ValuePlace scratch_e = 0;
  std::vector<ApproximateStep> approximations;
  std::vector<RegisterTouch> touches;  // sorted; on some path, where registers are tracked
  bool tracks_undefined = false;
  std::vector<ValuePlace> undefined_at_entry;  // read on some path before they are written
  std::vector<NamedPiece> shared;              // sorted; the dynamic part is the last, with 0 bytes
  std::uint32_t shared_bytes = 0;              // where static variables end
  std::uint32_t dynamic_shared_begin = 0;
  bool has_dynamic_shared = false;
  std::uint32_t local_bytes = 0;
  std::vector<NamedPiece> parameters;
  std::uint32_t parameter_bytes = 0;
};

}  // namespace recto::ptx
