#pragma once

// What somebody's program made of a case, judged. The bounds are those of kernels of nobody in
// particular (reference::third_party_numerics).

#include <string>

#include "core/status.h"
#include "reference/paged_attention.h"
#include "verify/case_files/case_arrays.h"
#include "verify/law.h"
#include "verify/npz/npz_archive.h"

namespace recto::verify {

// In its file: an npy alone is `out`, an npz has members by name.
inline constexpr const char* kAnswerOut = "out";        // [num_rows, num_q_heads, head_dim_v]
inline constexpr const char* kAnswerLseLn = "lse_ln";   // [num_rows, num_q_heads]; may be missing
inline constexpr const char* kAnswerKPool = "k_cache";  // whole pools, after the write
inline constexpr const char* kAnswerVPool = "v_cache";

// Reads FILE.npy or FILE.npz by what its name ends in. Invalid input without the path.
Result<NpzArrays> parse_answer(const std::string& path, const std::string& bytes);

// Attention's: `out` in q's type or fp32 (bf16: codes in uint16, int16 or 2 bytes, or fp32);
// `lse_ln` in fp32 or fp64, empty where it is missing. Invalid input that names the array, and the
// type or shape that was expected; the same of arrays that nobody asked for.
Result<reference::AttentionResult> attention_answer(const PagedAttentionInputs& inputs,
                                                    const NpzArrays& arrays);

// `seen.lse_ln` may be empty, and is not compared then.
Comparison compare_answer(const PagedAttentionInputs& inputs,
                          const reference::AttentionResult& seen, BoundKind bound_kind);

// `thrown` has what is no number beyond its bound: arrays that are missing or of another shape or
// type, and codes of pools that are not the reference's.
LawVerdict judge_answer(CaseOperation operation, const CaseSpec& spec, const NpzArrays& arrays,
                        BoundKind bound_kind);

}  // namespace recto::verify
