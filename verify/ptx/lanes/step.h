#pragma once

// Decoded instructions, and the forms of those that compute lane by lane.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace recto::ptx {

inline constexpr unsigned kWarpSize = 32;
using LaneMask = std::uint32_t;  // a bit for each lane of a warp; also the value of a predicate
inline constexpr LaneMask kAllLanes = ~LaneMask{0};

// A value's place: its offset in bytes within the registers of a warp. Registers and constants are
// rows of 32 lanes, aligned to 64 bytes; predicates are one LaneMask. Before registers have places,
// the same fields hold the numbers of values.
using ValuePlace = std::uint32_t;
inline constexpr ValuePlace kNoValue = ~ValuePlace{0};

struct Step;
using LaneFunction = void (*)(std::byte* registers, const Step& step);

// Widths of a value in bytes for each lane; 1 is a predicate.
using Width = std::uint8_t;
inline constexpr Width kPredicateWidth = 1;

// What a step does. All but kLanes end a run of steps that need no attention.
enum class Action : std::uint8_t {
  kLanes,
  kLoad,
  kStore,
  kAtomic,
  kAsyncCopy,
  kAsyncCommit,
  kAsyncWait,
  kLoadMatrix,
  kStoreMatrix,
  kMatrixProduct,
  kBranch,
  kBranchTable,
  kExit,
  kTrap,
  kBarrier,
  kWarpBarrier,
  kShuffle,
  kVote,
  kMatch,
  kReduce,
  kElect,
  kActiveMask,
  kMbarrier,
  kBulkCopy,
  kBulkCommit,
  kBulkWait,
  kClusterArrive,
  kClusterWait,
  kWarpgroupFence,
  kWarpgroupProduct,
  kWarpgroupCommit,
  kWarpgroupWait,
  kFence,
  kClock,
  kPrint,
  kAssert,
  kNothing,
  kCount,
};

// As PTX names it; "arithmetic" for what lanes do each by itself.
const char* action_name(Action action);

constexpr bool has_detail(Action action) {
  switch (action) {
    case Action::kLanes:
    case Action::kAsyncCommit:
    case Action::kBulkCommit:
    case Action::kWarpgroupFence:
    case Action::kWarpgroupCommit:
    case Action::kBranch:
    case Action::kExit:
    case Action::kTrap:
    case Action::kWarpBarrier:
    case Action::kClock:
    case Action::kNothing:
      return false;
    default:
      return true;
  }
}

// Whether an undefined operand makes an undefined result; others are reported instead.
constexpr bool passes_undefined(Action action) {
  return action == Action::kLanes || action == Action::kShuffle;
}

inline constexpr std::uint32_t kNoStep = ~std::uint32_t{0};

// The fields of a step that hold values, as bits of `Step::defs` and `Step::uses`.
enum StepField : std::uint8_t { kFieldD = 1, kFieldE = 2, kFieldA = 4, kFieldB = 8, kFieldC = 16 };

struct Step {
  LaneFunction lanes = nullptr;  // of kLanes
  ValuePlace d = kNoValue;       // result
  ValuePlace e = kNoValue;       // second result, or fourth operand
  ValuePlace a = kNoValue;
  ValuePlace b = kNoValue;
  ValuePlace c = kNoValue;
  ValuePlace guard = kNoValue;
  std::uint32_t detail = 0;      // index into what the action needs more
  std::uint32_t target = 0;      // of a branch: a step
  std::uint32_t join = kNoStep;  // of a branch: where its lanes meet again at the latest
  std::uint32_t place = 0;       // index into the program's places
  std::uint16_t straight = 0;    // how many steps from here on are unguarded kLanes of one block
  std::uint16_t copies = 0;      // moves before it that need no step
  // Which halves of the result depend on which of the operands a, b, c and e, by 4 bits for each:
  // half i on half j if bit 2 * i + j is set.
  std::uint16_t halves = 0xffff;
  Action action = Action::kLanes;
  bool is_guard_negated = false;
  std::uint8_t defs = 0;
  std::uint8_t uses = 0;
  Width d_width = 0;
  bool is_join = false;     // diverged lanes may meet here again
  bool is_tracked = false;  // its values may be undefined
};

// An instruction that computes each lane from the same lane of its operands.
struct LaneForm {
  std::string_view form;  // "add.ftz.f32"; .rn is left out
  LaneFunction function = nullptr;
  Width d = 0;
  Width e = 0;  // of a fourth operand
  Width a = 0;
  Width b = 0;
  Width c = 0;
};

// The best functions for this machine. Null if there is no such form.
const LaneForm* find_lane_form(std::string_view form);

// The same for an approximate form, with results that are off by up to the documented error, by the
// seed in the step's `detail`. Null for other forms.
LaneFunction find_perturbed_function(std::string_view form);

}  // namespace recto::ptx
