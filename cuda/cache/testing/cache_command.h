#pragma once

// A command for a block manager, as plain small numbers that mean something in any state: a random
// sequence stays valid when commands are left out, so that it can be shrunk, and all sequences of a
// length can be enumerated. What it means in one state is a call, which a manager and a model of it
// carry out alike.

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/cache_text.h"

namespace recto::cache::testing {

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
inline constexpr std::int32_t kBeyondTable = 1;  // append, reserve, swap in: more than a table has
inline constexpr std::int32_t kNegative = 2;     // append, reserve, truncate, swap in, beam step
inline constexpr std::int32_t kBehindContext = 1;  // truncate: to more than there is
inline constexpr std::int32_t kContextOnly = 1;    // commit: no more ids than the context has
inline constexpr std::int32_t kTooFew = 2;         // commit
inline constexpr std::int32_t kBadItem = 3;        // commit: an item without a length
inline constexpr std::int32_t kNoSuchParent = 1;   // beam step
inline constexpr std::int32_t kKeepText = 1;  // truncate, fork, in `flavour`: the cut text recurs

// Prints "append who 1 count 2", leaving out what is 0.
std::ostream& operator<<(std::ostream& out, const CacheCommand& command);

// A call of one member of a block manager; each uses some of the arguments.
struct CacheCall {
  CommandKind kind = CommandKind::kAdmit;
  std::vector<SequenceHandle> sequences = {};
  TransferHandle transfer = {};
  PinHandle pin = {};
  CacheText text = {};  // a prompt, or the tokens of a commit
  std::vector<BlockHash> hashes = {};
  std::optional<TokenCount> room = {};
  TokenCount count{};  // tokens to append, a length, or lookahead
  std::vector<std::int32_t> parent_of = {};

  Prompt prompt() const {
    return {.tokens = text.prompt().tokens, .keys = text.keys, .hashes = hashes};
  }
};

std::ostream& operator<<(std::ostream& out, const CacheCall& call);

struct CacheAnswer {
  Status status = {};
  std::vector<SequenceHandle> sequences = {};  // that came, or go on as beams
  TokenCount length{};                         // found cached, or pinned
  std::vector<BlockCopy> copies = {};
  std::vector<SwapCopy> swaps = {};
  TransferHandle transfer = {};
  PinHandle pin = {};
};

namespace internal {

template <typename T>
std::vector<T> copy_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

// Carries out calls whose answer is a value.
template <typename Manager>
CacheAnswer value_of(Manager& manager, const CacheCall& call) {
  using enum CommandKind;
  CacheAnswer answer;
  const auto take = [&answer](const auto& result, const auto& use) {
    answer.status = result.status();
    if (result.is_ok()) use(result.value());
    return answer;
  };
  const auto take_copies = [&](const auto& result) {
    return take(result, [&](const auto& copies) { answer.copies = copy_of<BlockCopy>(copies); });
  };
  const auto take_transfer = [&](const auto& result) {
    return take(result, [&](const auto& begun) {
      answer.transfer = begun.handle;
      answer.swaps = copy_of<SwapCopy>(begun.copies);
    });
  };
  const SequenceHandle first = call.sequences.empty() ? SequenceHandle{} : call.sequences.front();
  switch (call.kind) {
    case kAdmit:
      return take(manager.admit(call.prompt(), call.room), [&](const Admission& admitted) {
        answer.sequences = {admitted.sequence};
        answer.length = admitted.hit;
      });
    case kResume:
      return take(manager.resume(first, call.prompt(), call.room),
                  [&](TokenCount hit) { answer.length = hit; });
    case kAppend:
      return take_copies(manager.append(first, call.count));
    case kAppendBatch:
      return take_copies(manager.append(call.sequences));
    case kReserve:
      return take_copies(manager.reserve(first, call.count));
    case kFork:
      return take(manager.fork(first), [&](SequenceHandle child) { answer.sequences = {child}; });
    case kBeamStep:
      return take(manager.beam_step(call.sequences, call.parent_of),
                  [&](const auto& beams) { answer.sequences = copy_of<SequenceHandle>(beams); });
    case kSwapOut:
      return take_transfer(manager.swap_out(call.sequences));
    case kSwapIn:
      return take_transfer(manager.swap_in(call.sequences, call.count));
    case kPin:
      return take(manager.pin(call.prompt()), [&](const Pin& pin) {
        answer.pin = pin.handle;
        answer.length = pin.length;
      });
    default:
      return answer;
  }
}

}  // namespace internal

// Carries out a call, on the manager or on something that has the same members.
template <typename Manager>
CacheAnswer carry_out(Manager& manager, const CacheCall& call) {
  using enum CommandKind;
  const SequenceHandle first = call.sequences.empty() ? SequenceHandle{} : call.sequences.front();
  switch (call.kind) {
    case kCommit:
      return {.status = manager.commit(first, call.text.prompt().tokens)};
    case kTruncate:
      return {.status = manager.truncate(first, call.count)};
    case kRelease:
      return {.status = manager.release(first)};
    case kPreempt:
      return {.status = manager.preempt(first)};
    case kComplete:
      return {.status = manager.complete(call.transfer)};
    case kUnpin:
      return {.status = manager.unpin(call.pin)};
    case kReset:
      manager.reset_prefix_cache();
      return {};
    default:
      return internal::value_of(manager, call);
  }
}

}  // namespace recto::cache::testing
