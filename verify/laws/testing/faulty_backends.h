#pragma once

// For negative controls of the laws: a small case on which correct backends pass, and backends with
// one fault each.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/online_softmax.h"
#include "verify/law.h"

namespace recto::verify {

// Two sequences in fp32: three rows on 21 keys, one row on 5; four heads in two groups; causal, in
// blocks of 4 slots in ascending order, zeros in unaddressed slots.
LawCase small_case();
LawCase with_sinks(LawCase law_case);

// The backend of that name among reference_backends().
Backend backend_of(const std::string& name);

// Backends that claim fp64 and one tile per row.
using Run = std::function<reference::AttentionResult(const PagedAttentionInputs&)>;
Backend wrong(Run run);

// Changes the inputs, then computes the right result for them.
Backend mishearing(const std::function<void(PagedAttentionInputs&)>& change);

// Computes the right result, then changes it.
Backend misreporting(const std::function<void(reference::AttentionResult&)>& change);

// Adds 1 to all of out if `when` holds for the inputs.
Backend wrong_where(const std::function<bool(const PagedAttentionInputs&)>& when);

// Computes with other contexts: change(context_length, block_size).
Backend with_contexts(const std::function<std::int32_t(std::int32_t, std::int64_t)>& change);

// Splits each row's keys where the call says, in fp64, and merges the splits' states with `merge`,
// in order; correct if `merge` is.
using Merge = std::function<reference::SoftmaxState(const reference::SoftmaxState&,
                                                    const reference::SoftmaxState&)>;
Backend splitting(const Merge& merge);

// Asserts that the law applies, that correct backends pass even within the probabilistic bound, and
// that the faulty one fails even the worst-case bound.
void expect_caught(const Law& law, const LawCase& law_case, const Backend& faulty);

// The same, and that the law's part called `what` is the first to fail.
void expect_caught_by(const std::string& what, const Law& law, const LawCase& law_case,
                      const Backend& faulty);

}  // namespace recto::verify
