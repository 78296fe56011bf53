#pragma once

// Judges what somebody's program computed for a case. The bounds are those of the fixed profile for
// third-party kernels (reference::third_party_numerics).

#include <string>

#include "core/status.h"
#include "reference/paged_attention.h"
#include "verify/case_files/case_arrays.h"
#include "verify/law.h"
#include "verify/npz/npz_archive.h"

namespace recto::verify {

// Names of arrays in the answer's file: a single npy is `out`, an npz has members by name.
inline constexpr const char* kAnswerOut = "out";        // [num_rows, num_q_heads, head_dim_v]
inline constexpr const char* kAnswerLseLn = "lse_ln";   // [num_rows, num_q_heads]; may be missing
inline constexpr const char* kAnswerKPool = "k_cache";  // whole pools, after the write
inline constexpr const char* kAnswerVPool = "v_cache";

// Parses `bytes` as npz or npy, by what `path` ends in. Invalid input, whose message leaves out the
// path.
Result<NpzArrays> parse_answer(const std::string& path, const std::string& bytes);

// An attention's answer: `out` in q's type or fp32 (bf16: codes in uint16, int16 or 2 bytes, or
// fp32); `lse_ln` in fp32 or fp64, empty if it is missing. Invalid input names the array and the
// expected type or shape; arrays that nobody asked for are invalid input, too.
Result<reference::AttentionResult> attention_answer(const PagedAttentionInputs& inputs,
                                                    const NpzArrays& arrays);

// `seen.lse_ln` may be empty, and then is not compared.
Comparison compare_answer(const PagedAttentionInputs& inputs,
                          const reference::AttentionResult& seen, BoundKind bound_kind);

// Besides numbers beyond their bounds: `call_failure` names arrays that are missing or of another
// shape or type, `found` the codes of pools that differ from the reference's.
LawVerdict judge_answer(CaseOperation operation, const CaseSpec& spec, const NpzArrays& arrays,
                        BoundKind bound_kind);

}  // namespace recto::verify
