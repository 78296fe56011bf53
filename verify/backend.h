#pragma once

// An implementation of paged attention under test. Adding one to the list adds no test code: every
// law and the comparison with the oracle run on it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "reference/numerics.h"
#include "reference/online_softmax.h"
#include "reference/paged_attention.h"

namespace recto::verify {

// What a backend keeps m, l and o of a partial state in.
enum class StateType { kFp32, kFp64 };

// The merge of the partial states of disjoint sets of keys, of a backend that hands it out.
struct StateMerge {
  // States are exact in `type`.
  std::function<reference::SoftmaxState(const reference::SoftmaxState&,
                                        const reference::SoftmaxState&)>
      merge;
  StateType type = StateType::kFp32;
};

// What becomes of a value whose key a row does not see.
enum class MaskedValue : std::uint8_t {
  kNotRead,
  // Tiles that rows share weigh it with 0: NaN and infinities come through. Other people's prefill
  // may.
  kTimesZero,
};

struct Backend {
  std::string name;
  // Why it cannot run this case, or nothing.
  std::function<std::optional<std::string>(const PagedAttentionInputs&)> why_unsupported;
  std::function<reference::AttentionResult(const PagedAttentionInputs&)> run;
  // How it computes, for the bounds.
  std::function<reference::KernelNumerics(const PagedAttentionInputs&)> numerics;
  // Its tiles start at multiples of a fixed number of keys whatever the block size, so that block
  // size cannot change a bit.
  bool has_fixed_tiles = false;
  // A row's bits follow from the keys that it sees, whatever other rows the call has: not where
  // another kernel takes single rows.
  bool has_independent_rows = false;
  // A sequence's bits follow from the sequence itself, whatever else is in the batch.
  bool has_independent_sequences = false;
  // In a call of these inputs; kNotRead if it is empty.
  std::function<MaskedValue(const PagedAttentionInputs&)> masked_value = {};
  std::optional<StateMerge> state_merge = {};
  // The same, splitting contexts at so many keys (>= 1), or nothing where it cannot split there.
  // Empty if nobody can tell it where to split.
  std::function<std::optional<Backend>(std::int64_t split_size)> with_split_size = {};
  // The same, its results and workspaces holding these four bytes, over and over, before each call,
  // in place of NaN. Empty if nobody hands it such memory.
  std::function<Backend(std::uint32_t pattern)> with_stale_memory = {};
};

// The reference's own ways of computing: naive and online in fp64, gathered and over blocks, the
// decode step with its newest token outside the cache, and the plain low-precision run of each type
// of q, tiled and rounded in more than one way.
std::vector<Backend> reference_backends();

}  // namespace recto::verify
