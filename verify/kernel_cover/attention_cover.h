#pragma once

// Cases of attention, and what the kernels make of them.

#include <cstdint>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "verify/generators/case_spec.h"
#include "verify/kernel_calls.h"
#include "verify/kernel_cover/outcome.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {

// What cases are drawn for: plain decode, of all head dims; or the kernels that multiply tiles of a
// group's rows, in decode and in prefill, whose types and layouts come in turn.
enum class Covered : std::uint8_t { kDecode, kGroup, kPrefill };

// What a kernel has made of these inputs.
Outcome attention_outcome(const std::string& kernel, const PagedAttentionInputs& inputs,
                          const DecodeResults& results);

CaseSpec covered_case(Covered what, std::uint64_t number);

// By every kernel that serves these inputs.
std::vector<Outcome> attention_outcomes(simt::Executor& executor,
                                        const PagedAttentionInputs& inputs);

}  // namespace recto::verify
