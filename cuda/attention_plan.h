#pragma once

// How attention over a paged cache is to be computed: by which kernel, in how many splits, with how
// much workspace. A plan is made of shapes and options alone, before any call, and serves all calls
// whose contexts and queries stay within its limits, so that a captured graph stays valid while
// contexts grow.
//
// A context longer than max_context_length is never cut: the last split takes the rest of it,
// alone, so that it takes longer, and its bits depend on the limit. With ContentsCheck::kOnDevice
// it is refused. Query rows of a sequence beyond max_query_length are not computed.
//
// Unless told otherwise:
//
//   kernel      kPrefill for several query rows a sequence; else kGroupDecode for what it serves;
//               else kPlainDecode. kBulkDecode is taken if asked for.
//               Batch-invariant: max_query_length alone says whether it is kPrefill, so that in a
//               plan for one query row a sequence each has one, and calls of others are refused.
//   split_size  so that thread blocks fill the card twice, but not less than 256 keys; of a batch
//               that fills it anyway, the whole context. Batch-invariant: 1024, whatever the batch.

#include <kernel_dialect.h>

#include <cstdint>
#include <optional>

#include "core/attention_views.h"
#include "core/status.h"

namespace recto {

enum class AttentionKernel : std::uint8_t {
  kPlainDecode,  // kernels/paged_decode.h; kernels/split_decode.h if there are several splits
  kGroupDecode,  // kernels/group_decode.h
  kBulkDecode,   // kernels/bulk_decode.h, on sm_90 and later cards
  kPrefill,      // kernels/paged_prefill.h
};

constexpr const char* attention_kernel_name(AttentionKernel kernel) {
  constexpr const char* kNames[] = {"plain decode", "group decode", "bulk decode", "prefill"};
  return kNames[static_cast<int>(kernel)];
}

// What the bits of a row may depend on.
enum class BatchInvariance : std::uint8_t {
  kNone,  // the plan, and with it the batch
  kRows,  // its own sequence and the options; not the batch, the longest context, or neighbours
};

// Whether tables and lengths are looked at before each call, by a kernel whose answer is waited
// for: for debugging, and not for graphs.
enum class ContentsCheck : std::uint8_t { kNone, kOnDevice };

struct PlanOptions {
  // Tokens: the longest context of any call, 1 to kernels::kContextLengthMax. It has to be given.
  std::int64_t max_context_length = 0;
  std::int64_t max_query_length = 1;  // at least the most query rows of a sequence
  std::int64_t num_multiprocessors = 132;
  BatchInvariance batch_invariance = BatchInvariance::kNone;
  ContentsCheck contents_check = ContentsCheck::kNone;
  std::optional<AttentionKernel> kernel = {};
  std::optional<std::int64_t> split_size = {};  // keys
};

struct AttentionPlan {
  AttentionKernel kernel = AttentionKernel::kPlainDecode;
  std::int64_t split_size = 0;
  std::int64_t num_splits = 1;
  std::int64_t max_context_length = 0;
  std::int64_t max_query_length = 1;
  ContentsCheck contents_check = ContentsCheck::kNone;
  std::int64_t workspace_bytes = 0;  // of calls with as many sequences, heads and dims, or fewer
};

// Of `inputs` shapes and options are looked at, and no memory. Invalid input: they do not pass
// core/attention_gate.h, or no kernel, or not the one that is asked for, serves them.
Result<AttentionPlan> plan_attention(const PagedAttentionInputs& inputs,
                                     const PlanOptions& options);

// Whether there can be such a plan, and it serves these inputs; if not, invalid input that names
// what differs.
Status check_plan(const AttentionPlan& plan, const PagedAttentionInputs& inputs);

}  // namespace recto
