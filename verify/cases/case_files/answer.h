#pragma once

// Judges the results that an external program computed for a case. The bounds are those of the
// fixed profile for third-party kernels (reference::third_party_numerics).

#include <string>

#include "core/status.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"
#include "verify/cases/case_files/case_arrays.h"
#include "verify/cases/npz/npz_archive.h"
#include "verify/law.h"

namespace recto::verify {

// Names of arrays in the answer's file: a single npy is `out`, an npz has members by name.
inline constexpr const char* kAnswerOut = "out";        // [num_rows, num_q_heads, head_dim_v]
inline constexpr const char* kAnswerLseLn = "lse_ln";   // [num_rows, num_q_heads]; may be missing
inline constexpr const char* kAnswerKPool = "k_cache";  // whole pools, after the write
inline constexpr const char* kAnswerVPool = "v_cache";

// Parses `bytes` as npz or npy, by the extension of `path`. Messages of invalid input leave out the
// path.
Result<NpzArrays> parse_answer(const std::string& path, const std::string& bytes);

// Reads the results of attention: `out` in q's type or fp32 (bf16: codes in uint16, int16 or 2
// bytes, or fp32); `lse_ln` in fp32 or fp64, empty if it is missing. Invalid input names the array
// and the expected type or shape; unknown arrays are invalid input, too.
Result<reference::AttentionResult> attention_answer(const PagedAttentionInputs& inputs,
                                                    const NpzArrays& arrays);

// `seen.lse_ln` may be empty and is then not compared. `declared` changes the profile.
Comparison compare_answer(const PagedAttentionInputs& inputs,
                          const reference::AttentionResult& seen, BoundKind bound_kind,
                          const reference::DeclaredNumerics& declared = {});

// Besides numbers beyond their bounds: `call_failure` names arrays that are missing or have a wrong
// shape or type, `found` the codes of pools that differ from the reference's.
LawVerdict judge_answer(CaseOperation operation, const CaseSpec& spec, const NpzArrays& arrays,
                        BoundKind bound_kind, const reference::DeclaredNumerics& declared = {});

}  // namespace recto::verify
