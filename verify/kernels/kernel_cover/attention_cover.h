#pragma once

// Cases of attention, and what the kernels make of them.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/attention_views.h"
#include "verify/cases/case_spec.h"
#include "verify/kernels/kernel_cover/outcome.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {

// What cases are drawn for: reference decode, of all head dims; or the kernels that multiply tiles
// of a group's rows, in decode and in prefill, whose types and layouts come in turn; or those of
// caches whose blocks are fetched whole.
enum class Covered : std::uint8_t { kDecode, kGroup, kPrefill, kBlocks };

CaseSpec covered_case(Covered what, std::uint64_t number);

inline constexpr std::array kAttentionKernels = {"reference-decode", "split-decode",
                                                 "group-scores",     "gqa-decode",
                                                 "tma-decode",       "paged-prefill"};

// What one of these makes of the inputs; nothing if it does not serve them.
std::optional<Outcome> attention_outcome(std::string_view kernel, simt::Executor& executor,
                                         const PagedAttentionInputs& inputs);

// By every kernel that serves these inputs, and of the one that looks at their contents: what it
// finds in them as they are, and under limits that they break.
std::vector<Outcome> attention_outcomes(simt::Executor& executor,
                                        const PagedAttentionInputs& inputs);

}  // namespace recto::verify
