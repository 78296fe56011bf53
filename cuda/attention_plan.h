#pragma once

// Plans attention over a paged cache: the kernel, the number of splits, and the workspace. A plan
// depends only on shapes and options and is made before any call. It serves every call whose
// contexts and queries stay within its limits, so a captured graph stays valid while contexts grow.
//
// A context longer than max_context_length is never truncated: equal shares grow, and the last
// split of a fixed size processes all that remains, alone, so that the bits depend on the limit.
// With ContentsCheck::kOnDevice such a context is refused. Query rows of a sequence beyond
// max_query_length are not computed.
//
// Defaults:
//
//   kernel      kPrefill for several query rows per sequence; otherwise kGqaDecode where it
//               serves the inputs; otherwise kReferenceDecode. kTmaDecode is used only on request.
//               Batch-invariant: max_query_length alone decides whether it is kPrefill, so a plan
//               for one query row per sequence refuses calls that do not have exactly one each.
//   splits      each context in equal shares, as many as fill the card's multiprocessors with
//               thread blocks and leave few of them idle at the end, but of at least 64 keys in GQA
//               decode, or 256 in reference decode. Batch-invariant: 1024 keys each, whatever the
//               batch. With split_size: that many keys each.

#include <kernel_dialect.h>

#include <cstdint>
#include <optional>

#include "core/attention_views.h"
#include "core/status.h"
#include "cuda/kernels/split_decode.h"

namespace recto {

enum class AttentionKernel : std::uint8_t {
  kReferenceDecode,  // kernels/reference_decode.h; kernels/split_decode.h if there are several
                     // splits
  kGqaDecode,        // kernels/gqa_decode.h
  kTmaDecode,        // kernels/tma_decode.h, on sm_90 and later cards
  kPrefill,          // kernels/paged_prefill.h
};

constexpr const char* attention_kernel_name(AttentionKernel kernel) {
  constexpr const char* kNames[] = {"reference decode", "GQA decode", "TMA decode", "prefill"};
  return kNames[static_cast<int>(kernel)];
}

// The inputs that the bits of a row may depend on.
enum class BatchInvariance : std::uint8_t {
  kNone,  // the plan, and with it the batch
  kRows,  // its own sequence and the options; not the batch, the longest context, or neighbours
};

// Whether a kernel checks tables and lengths before each call. The call waits for its answer, so
// this is for debugging and cannot be used in graphs.
enum class ContentsCheck : std::uint8_t { kNone, kOnDevice };

struct PlanOptions {
  // Longest context of any call, in tokens: 1 to kernels::kContextLengthMax. Required.
  std::int64_t max_context_length = 0;
  std::int64_t max_query_length = 1;  // at least the largest number of query rows of a sequence
  std::int64_t num_multiprocessors = 132;
  BatchInvariance batch_invariance = BatchInvariance::kNone;
  ContentsCheck contents_check = ContentsCheck::kNone;
  std::optional<AttentionKernel> kernel = {};
  std::optional<std::int64_t> split_size = {};  // keys
};

struct AttentionPlan {
  AttentionKernel kernel = AttentionKernel::kReferenceDecode;
  kernels::SplitRule split_rule = kernels::SplitRule::kFixedSize;
  std::int64_t split_size = 0;
  std::int64_t num_splits = 1;
  std::int64_t max_context_length = 0;
  std::int64_t max_query_length = 1;
  ContentsCheck contents_check = ContentsCheck::kNone;
  std::int64_t workspace_bytes = 0;  // for at most as many sequences, heads and dims
};

// Reads the shapes and options of `inputs`, but no memory. Invalid input: they do not pass
// core/attention_gate.h, or no kernel serves them, or the requested one does not.
Result<AttentionPlan> plan_attention(const PagedAttentionInputs& inputs,
                                     const PlanOptions& options);

// Checks that `plan` is a possible plan and that it serves `inputs`. If not, returns invalid input
// that names the mismatch.
Status check_plan(const AttentionPlan& plan, const PagedAttentionInputs& inputs);

}  // namespace recto
