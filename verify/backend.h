#pragma once

// An implementation of paged attention under test, and the outcome of a call of it as a value: a
// failed call is an outcome like any other. Adding a backend to the list needs no test code: every
// law and the comparison with the oracle run on it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "reference/numerics.h"
#include "reference/online_softmax.h"
#include "reference/paged_attention.h"
#include "verify/cases/placed_problem.h"
#include "verify/cases/poison.h"

namespace recto::verify {

// Kinds of failure, beside those of a kernel library ("SIGSEGV", "exit", "wrong memory", ...).
inline constexpr const char* kWrongNumbers = "wrong numbers";
inline constexpr const char* kTimeOut = "time-out";
inline constexpr const char* kThrown = "thrown";  // a broken contract, or another exception

// The backend does not support such a call, and computed nothing.
struct Unsupported {
  std::string reason;  // one line
};

// The backend supports the call, but gave no result.
struct Failed {
  std::string kind;
  std::string message;  // what happened; several lines
  // The call exceeded its time limit on a busy machine: it counts only if that happens again.
  bool may_be_machine = false;
};

struct Done {
  // Empty after an operation on the KV cache; its lse_ln alone, if the backend gives none.
  reference::AttentionResult result = {};
  std::string printed = {};  // to standard output and standard error, if known
};

using CallOutcome = std::variant<Unsupported, Failed, Done>;

// Makes the call and returns its outcome. An exception is a failure of the kind kThrown: on the
// executor, a kernel breaks a contract where a check finds something.
CallOutcome guarded(const std::function<CallOutcome()>& call);

// The result of a call that must not fail: requires Done.
reference::AttentionResult result_of(CallOutcome outcome);
// Failed, with the reason or the message, if the outcome is not Done.
Result<reference::AttentionResult> result_or_reason(CallOutcome outcome);

// Wraps `act` as a call that never fails and has no result.
template <typename Act>
auto done_after(Act act) {
  return [act = std::move(act)](const auto&... arguments) -> CallOutcome {
    act(arguments...);
    return Done{};
  };
}

// Settings of a call beside its inputs. A backend follows those listed in its Capabilities.
struct CallOptions {
  // Keys per split, >= 1. If not given, the backend chooses.
  std::optional<std::int64_t> split_size = {};
  // Four bytes, repeated, with which results and workspaces are filled before the call.
  std::uint32_t stale_memory = kStaleNaN;
  // Gaps between the rows and the heads of out; if not given, those of q.
  std::optional<RowGaps> out_gaps = {};
  // How often this same call was made before: on the executor, each time has its own schedule.
  std::uint64_t repetition = 0;
};

// What happens to a value whose key a row does not see.
enum class MaskedValue : std::uint8_t {
  kNotRead,
  // Multiplied by 0 in tiles that rows share, so NaN and infinities propagate. Third-party prefill
  // kernels may do this.
  kTimesZero,
};

struct Capabilities {
  // Its tiles start at multiples of a fixed number of keys, whatever the block size, so the block
  // size cannot change any bit.
  bool has_fixed_tiles = false;
  // Strides select among kernels with different tiles, so they can change bits.
  bool has_tiles_by_strides = false;
  // A row's bits depend only on the keys that it sees, not on the call's other rows. False if a
  // different kernel handles single rows.
  bool has_independent_rows = false;
  // A sequence's bits depend only on the sequence itself, not on the rest of the batch.
  bool has_independent_sequences = false;
  MaskedValue masked_value = MaskedValue::kNotRead;
  // What slots that no sequence addresses may hold, and slots behind a context in its last block.
  PoisonLimit poison = PoisonLimit::kAny;
  PoisonLimit tails = PoisonLimit::kAny;
  // The fields of CallOptions that the backend follows.
  bool takes_split_size = false;
  bool takes_stale_memory = false;
  bool takes_out_gaps = false;
};

// The type in which a backend stores m, l and o of a partial state.
enum class StateType { kFp32, kFp64 };

// A backend's merge of the partial states of disjoint sets of keys, if the backend exposes it.
struct StateMerge {
  // States are exact in `type`.
  std::function<reference::SoftmaxState(const reference::SoftmaxState&,
                                        const reference::SoftmaxState&)>
      merge;
  StateType type = StateType::kFp32;
};

// Which calls follow a restart. Late calls in trials of failing cases do not count to a limit.
enum class CallsAre : std::uint8_t { kTrials, kOfDrawnCases };

struct Backend {
  std::string name = {};
  Capabilities capabilities = {};
  // Makes a call. Empty: the backend computes no attention, only moves K and V under its own laws.
  std::function<CallOutcome(const PagedAttentionInputs&, const CallOptions&)> attend = {};
  // How the backend computes, for deriving the bounds.
  std::function<reference::KernelNumerics(const PagedAttentionInputs&, const CallOptions&)>
      numerics_of = {};
  // Why the backend refuses a call of these sizes and types, where that is known without making the
  // call. Empty: only the call itself tells; a backend that computes no attention refuses none.
  std::function<std::optional<std::string>(const PagedAttentionInputs&, const CallOptions&)>
      refusal = {};
  std::optional<StateMerge> state_merge = {};
  // Makes the backend forget all earlier calls. Empty if it cannot, or has nothing to forget.
  std::function<void(CallsAre)> restart = {};

  bool computes_attention() const { return attend != nullptr; }
  // Never throws.
  CallOutcome call(const PagedAttentionInputs& inputs, const CallOptions& options = {}) const {
    if (!attend) return Unsupported{"it computes no attention"};
    if (refusal)
      if (const auto why = refusal(inputs, options)) return Unsupported{*why};
    return guarded([&] { return attend(inputs, options); });
  }
  // Makes the call if there is no other way to tell.
  std::optional<std::string> why_unsupported(const PagedAttentionInputs& inputs,
                                             const CallOptions& options = {}) const;
  reference::KernelNumerics numerics(const PagedAttentionInputs& inputs,
                                     const CallOptions& options = {}) const {
    return numerics_of(inputs, options);
  }
  // The placement, with poison within the capabilities.
  Placement tolerated(Placement placement) const;
  // The options for calls on memory with this placement.
  CallOptions options_for(const Placement& placement) const;
};

// For Backend::attend, wraps a function of the inputs alone.
std::function<CallOutcome(const PagedAttentionInputs&, const CallOptions&)> always_done(
    std::function<reference::AttentionResult(const PagedAttentionInputs&)> attend);

// The reference's own methods: naive and online in fp64, gathered and block by block; the decode
// step with its newest token outside the cache; and the plain low-precision run for each type of q,
// with several tile sizes and roundings.
std::vector<Backend> reference_backends();

}  // namespace recto::verify
