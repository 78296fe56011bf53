#pragma once

// Counts how often the things worth testing happened, so that a test can check that they did.

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/models/cache_command.h"

namespace recto::verify {

enum class Happening : std::uint8_t {
  kEviction,
  kHitOnLive,       // a block that another sequence holds
  kHitOnEvictable,  // a block that nobody holds
  kHitOnPinned,     // a pinned block that nobody holds
  kHitBehindGap,    // a window group has no block where the prefix begins
  kDuplicate,       // a block with content that can be found elsewhere
  kCollision,
  kEvictionForNode,
  kNoNode,
  kTooManyItems,
  kHitWithKeys,
  kHitWithItems,
  kCopyOnWrite,
  kCopyOfPinned,  // a block that nobody else holds, copied because it is pinned
  kCopiesOfOne,   // two copies in one answer with the same source
  kDivergence,    // another token where a sequence with the same block has one
  kOverwritten,   // a block that could be found, forgotten to be written into
  kLookahead,     // room that was there already was written into
  kWindowFreeing,
  kWindowFreeingOfShared,
  kForkWithLookahead,
  kBeamTwins,    // two children of a parent
  kBeamDropped,  // a parent without a child
  kTruncateIntoShared,
  kTruncateBelowPublished,
  kTruncateRefusedByWindow,
  kSwapWithSharing,       // fewer blocks than table entries go
  kSwapSharedWithOthers,  // a block goes that stays in use
  kSwapInShared,          // fewer copies than table entries come
  kSwapInTwice,           // a host block comes to two device blocks
  kSwapWithCached,        // a block goes that can be found
  kReleaseSwappingOut,
  kReleaseSwappingIn,
  kResumeWithHit,
  kPinOfLive,
  kPinOfIdle,
  kPinOfPinned,
  kResetWithLive,
  kResetWithSwapped,
  kResetInFlight,
  kResetWithPins,
  kCommitAfterReset,  // of a sequence that was there before; publishes nothing
  kFullPool,
  kUsedUnevenly,  // holders of a block that use different slots of it
};

inline constexpr int kNumHappenings = static_cast<int>(Happening::kUsedUnevenly) + 1;

const char* happening_name(Happening happening);

class Happenings {
 public:
  void count(Happening happening, std::int64_t times = 1) {
    counts_[static_cast<std::size_t>(happening)] += times;
  }
  // Counts once if a condition holds.
  void count_if(std::int64_t holds, Happening happening) { count(happening, holds); }
  // Counts a command that ended with this code.
  void count_answer(CommandKind kind, StatusCode code) {
    ++answers_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(code)];
  }
  void count_skipped() { ++skipped_; }

  std::int64_t times(Happening happening) const {
    return counts_[static_cast<std::size_t>(happening)];
  }
  std::int64_t answers(CommandKind kind, StatusCode code) const {
    return answers_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(code)];
  }
  // Prints a line for each happening, and a table of answers.
  void print(std::ostream& out) const;

 private:
  std::array<std::int64_t, kNumHappenings> counts_{};
  std::array<std::array<std::int64_t, 4>, kNumCommandKinds> answers_{};  // [kind][StatusCode]
  std::int64_t skipped_ = 0;  // commands that found nothing to act on
};

}  // namespace recto::verify
