#pragma once

// What the laws are tried on themselves: a small case on which the right backends pass, and
// backends that are wrong in one way each.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/online_softmax.h"
#include "verify/law.h"

namespace recto::verify {

// Two sequences in fp32: three rows on 21 keys, one row on 5; four heads in two groups; causal, in
// blocks of 4 slots in ascending order, zeros in the slots that nobody addresses.
LawCase small_case();
LawCase with_sinks(LawCase law_case);

// One of reference_backends().
Backend backend_of(const std::string& name);

// Backends that call themselves fp64, one tile to a row.
using Run = std::function<reference::AttentionResult(const PagedAttentionInputs&)>;
Backend wrong(Run run);

// Answers another question than it was asked.
Backend mishearing(const std::function<void(PagedAttentionInputs&)>& change);

// Answers right, then changes the answer.
Backend misreporting(const std::function<void(reference::AttentionResult&)>& change);

// Wrong by 1 in all of out where `when` holds of the question.
Backend wrong_where(const std::function<bool(const PagedAttentionInputs&)>& when);

// Answers for other contexts: change(context_length, block_size).
Backend with_contexts(const std::function<std::int32_t(std::int32_t, std::int64_t)>& change);

// Splits each row's keys where a call says, in fp64, and merges the splits' states by `merge`, in
// order; right where `merge` is.
using Merge = std::function<reference::SoftmaxState(const reference::SoftmaxState&,
                                                    const reference::SoftmaxState&)>;
Backend splitting(const Merge& merge);

// Checks, as a test's assertions: the law applies, the right backends pass even within the
// probabilistic bound, and the faulty one fails even the worst-case one.
void expect_caught(const Law& law, const LawCase& law_case, const Backend& faulty);

// The same, and that the law's part called `what` is the first to see it.
void expect_caught_by(const std::string& what, const Law& law, const LawCase& law_case,
                      const Backend& faulty);

}  // namespace recto::verify
