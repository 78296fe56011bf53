#pragma once

// An implementation of paged attention under test. Adding a backend to the list needs no test code:
// every law and the comparison with the oracle run on it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "reference/numerics.h"
#include "reference/online_softmax.h"
#include "reference/paged_attention.h"
#include "verify/problems/placed_problem.h"

namespace recto::verify {

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

// What happens to a value whose key a row does not see.
enum class MaskedValue : std::uint8_t {
  kNotRead,
  // Multiplied by 0 in tiles that rows share, so NaN and infinities propagate. Third-party prefill
  // kernels may do this.
  kTimesZero,
};

struct Backend {
  std::string name;
  // Returns why it cannot run this case, or nothing.
  std::function<std::optional<std::string>(const PagedAttentionInputs&)> why_unsupported;
  std::function<reference::AttentionResult(const PagedAttentionInputs&)> run;
  // How it computes, for deriving the bounds.
  std::function<reference::KernelNumerics(const PagedAttentionInputs&)> numerics;
  // Its tiles start at multiples of a fixed number of keys, whatever the block size, so the block
  // size cannot change any bit.
  bool has_fixed_tiles = false;
  // A row's bits depend only on the keys that it sees, not on the call's other rows. False if a
  // different kernel handles single rows.
  bool has_independent_rows = false;
  // A sequence's bits depend only on the sequence itself, not on the rest of the batch.
  bool has_independent_sequences = false;
  // For a call with these inputs; if empty, kNotRead.
  std::function<MaskedValue(const PagedAttentionInputs&)> masked_value = {};
  std::optional<StateMerge> state_merge = {};
  // Returns this backend with contexts split every `split_size` keys (>= 1), or nothing if it
  // cannot split there. Empty if the split size cannot be set.
  std::function<std::optional<Backend>(std::int64_t split_size)> with_split_size = {};
  // Returns this backend with results and workspaces filled with these four bytes, repeated, before
  // each call, instead of with NaN. Empty if such memory cannot be passed to it.
  std::function<Backend(std::uint32_t pattern)> with_stale_memory = {};
  // Returns this backend with these gaps in out. Empty if out is its own.
  std::function<Backend(const RowGaps& gaps)> with_out_gaps = {};
  // Of one that computes no attention: why it serves no case with these caches, or nothing. Empty:
  // it takes what comes.
  std::function<std::optional<std::string>(const PagedAttentionInputs&)> why_no_case = {};
  // Makes it forget all earlier calls, as if none had been made, for trials of a case that has
  // failed. Empty if it cannot, or has nothing to forget.
  std::function<void()> restart = {};
  // Says that calls from now on are of drawn cases, and no more of trials. Empty if that makes no
  // difference.
  std::function<void()> end_trials = {};
  // What it printed since this was asked last, in lines; empty if nothing. Empty if it is not
  // known.
  std::function<std::string()> take_printed = {};
};

// The backend with out's gaps as in the placement, where they can be set; else as it is.
Backend as_placed(const Backend& backend, const Placement& placement);

// The reference's own methods: naive and online in fp64, gathered and block by block; the decode
// step with its newest token outside the cache; and the plain low-precision run for each type of q,
// with several tile sizes and roundings.
std::vector<Backend> reference_backends();

}  // namespace recto::verify
