#pragma once

// Attention cases, and the kernels' results for them.

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

// The kernels for which cases are drawn: reference decode, all head dims; the tiled kernels over a
// group's rows, in decode and in prefill, whose types and layouts alternate; or the kernels that
// fetch whole blocks.
enum class Covered : std::uint8_t { kDecode, kGroup, kPrefill, kBlocks };

CaseSpec covered_case(Covered what, std::uint64_t number);

inline constexpr std::array kAttentionKernels = {"reference-decode", "split-decode",
                                                 "group-scores",     "gqa-decode",
                                                 "tma-decode",       "paged-prefill"};

// The result of one kernel; nothing if it does not support the inputs.
std::optional<Outcome> attention_outcome(std::string_view kernel, simt::Executor& executor,
                                         const PagedAttentionInputs& inputs);

// The results of every kernel that supports the inputs, and the findings of the contents check, for
// the inputs as they are and under limits that they exceed.
std::vector<Outcome> attention_outcomes(simt::Executor& executor,
                                        const PagedAttentionInputs& inputs);

}  // namespace recto::verify
