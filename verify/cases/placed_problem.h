#pragma once

// An attention problem laid out in memory: pools in one of the layouts, block tables, lengths, and
// the contents of unaddressed slots.

#include <array>
#include <cstdint>

#include "core/batch.h"
#include "verify/cases/attention_problem.h"
#include "verify/cases/gaps.h"

namespace recto::verify {

// The contents of slots that no sequence addresses. Garbage is random and finite.
enum class Poison : std::uint8_t { kZero, kNaN, kInfinity, kTenThousand, kGarbage };

// What the contents of such slots may be, for programs that multiply them by a weight of 0.
enum class PoisonLimit : std::uint8_t { kNone, kFinite, kAny };

inline constexpr std::array<PoisonLimit, 3> kPoisonLimits = {
    PoisonLimit::kNone, PoisonLimit::kFinite, PoisonLimit::kAny};

constexpr const char* poison_limit_name(PoisonLimit limit) {
  constexpr const char* kNames[] = {"none", "finite", "any"};
  return kNames[static_cast<int>(limit)];
}

// The poison, or the nearest one within the limit.
constexpr Poison limited(Poison poison, PoisonLimit limit) {
  const bool is_finite = poison != Poison::kNaN && poison != Poison::kInfinity;
  if (limit == PoisonLimit::kNone) return Poison::kZero;
  return limit == PoisonLimit::kAny || is_finite ? poison : Poison::kTenThousand;
}

// Which pools hold the poison: both, or only that of K or of V; the other one then holds zeros.
enum class PoisonedTensors : std::uint8_t { kBoth, kKeysOnly, kValuesOnly };

// Which physical blocks the sequences get: the first ones of the pool, in ascending or descending
// order; any blocks, shuffled; or the last ones, shuffled (with many spare blocks, all ids are
// high).
enum class BlockOrder : std::uint8_t { kAscending, kDescending, kShuffled, kHighIds };

inline constexpr std::array<Poison, 5> kPoisons = {Poison::kZero, Poison::kNaN, Poison::kInfinity,
                                                   Poison::kTenThousand, Poison::kGarbage};
inline constexpr std::array<PoisonedTensors, 3> kPoisonedTensors = {
    PoisonedTensors::kBoth, PoisonedTensors::kKeysOnly, PoisonedTensors::kValuesOnly};
inline constexpr std::array<BlockOrder, 4> kBlockOrders = {
    BlockOrder::kAscending, BlockOrder::kDescending, BlockOrder::kShuffled, BlockOrder::kHighIds};

constexpr const char* poison_name(Poison poison) {
  constexpr const char* kNames[] = {"zero", "nan", "infinity", "ten-thousand", "garbage"};
  return kNames[static_cast<int>(poison)];
}

constexpr const char* poisoned_tensors_name(PoisonedTensors poisoned) {
  constexpr const char* kNames[] = {"both", "keys-only", "values-only"};
  return kNames[static_cast<int>(poisoned)];
}

constexpr const char* block_order_name(BlockOrder order) {
  constexpr const char* kNames[] = {"ascending", "descending", "shuffled", "high-ids"};
  return kNames[static_cast<int>(order)];
}

struct Placement {
  KvLayout layout = KvLayout::kTokenMajor;
  std::int64_t block_size = 16;
  BlockOrder order = BlockOrder::kShuffled;
  std::int64_t spare_blocks = 2;  // unreferenced blocks of the pool
  // Extra elements between neighbours, filled with poison: multiples of 16.
  std::int64_t block_padding = 0;
  std::int64_t row_padding = 0;  // of rows of q and out; poisoned regardless of `poisoned`
  Gaps gaps = {};                // additional ones, independent per tensor, of any width
  // Columns of the block table beyond those of the longest sequence. Half of them, rounded up,
  // count towards max_blocks, all of them towards its row stride.
  std::int64_t table_padding = 0;
  bool garbage_beyond_table = true;  // ids out of range or of other sequences; if false, 0
  bool shares_prefixes = false;      // equal leading blocks of sequences are one physical block
  Poison poison = Poison::kNaN;
  PoisonedTensors poisoned = PoisonedTensors::kBoth;
  PoisonLimit tails = PoisonLimit::kAny;  // of slots behind a context, in a block of it
  std::uint64_t seed = 0;                 // for shuffling and garbage

  friend bool operator==(const Placement&, const Placement&) = default;
};

// Owns the memory; inputs() points into it. Equal problems and placements give equal bytes. The
// table has at least one column, and each pool at least one block. Precondition: every value is
// exact in its type.
class PlacedProblem {
 public:
  PlacedProblem(const AttentionProblem& problem, const Placement& placement);

  const PagedAttentionInputs& inputs() const { return batch_.inputs; }

 private:
  Batch batch_;
};

}  // namespace recto::verify
