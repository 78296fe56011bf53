#pragma once

// A command for a block manager, as plain small numbers that mean something in any state: a random
// sequence stays valid when commands are left out, so that it can be shrunk, and all sequences of a
// length can be enumerated.

#include <array>
#include <cstdint>
#include <ostream>

namespace recto::verify {

enum class CommandKind : std::uint8_t {
  kAdmit,
  kAppend,
  kAppendBatch,
  kReserve,
  kCommit,
  kFork,
  kBeamStep,
  kTruncate,
  kRelease,
  kPreempt,
  kResume,
  kSwapOut,
  kSwapIn,
  kComplete,
  kPin,
  kUnpin,
  kReset,
  kMisuse,
};

inline constexpr int kNumCommandKinds = 18;

const char* command_kind_name(CommandKind kind);

// Numbers that name something are taken modulo how many there are.
struct CacheCommand {
  CommandKind kind = CommandKind::kAdmit;
  // Which sequence, transfer or pin, of those in the right state; kAnyState + i is the i-th of all.
  // For commands on several, one bit each; with kReversed the last comes first; with kTwice the
  // first is named again at the end.
  std::int32_t who = 0;
  std::int32_t base = 0;    // remembered text that a prompt begins with; 0: none (resume: its own)
  std::int32_t length = 0;  // tokens of it, or of a context
  std::int32_t count = 0;   // further tokens
  std::int32_t token = 0;   // which ones: digits in base `alphabet`, lowest first
  std::int32_t extra = 0;   // room of an admission, plus 1; else a variant
  std::int32_t flavour = 0;

  friend bool operator==(const CacheCommand&, const CacheCommand&) = default;
};

inline constexpr std::int32_t kAnyState = 0x100;
inline constexpr std::int32_t kReversed = 0x200;
inline constexpr std::int32_t kTwice = 0x400;

// Variants, in `extra`.
inline constexpr std::int32_t kBeyondTable = 1;  // append, reserve: more than a table has room for
inline constexpr std::int32_t kNegative = 2;     // append, reserve, truncate, swap in
inline constexpr std::int32_t kBehindContext = 1;  // truncate: to more than there is
inline constexpr std::int32_t kContextOnly = 1;    // commit: no more ids than the context has
inline constexpr std::int32_t kTooFew = 2;         // commit
inline constexpr std::int32_t kBadItem = 3;        // commit: an item without a length
inline constexpr std::int32_t kNoSuchParent = 1;   // beam step
inline constexpr std::int32_t kKeepText = 1;  // truncate, fork, in `flavour`: the cut text recurs

// Prints "append who 1 count 2", leaving out what is 0.
std::ostream& operator<<(std::ostream& out, const CacheCommand& command);

}  // namespace recto::verify
