#include "cuda/attention_plan.h"

#include <kernel_dialect.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/attention_gate.h"
#include "core/refusal.h"
#include "cuda/instantiations.h"
#include "cuda/kernel_params.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/limits.h"
#include "cuda/kernels/tma_decode.h"
#include "cuda/launch.h"
#include "cuda/workspace.h"

namespace recto {
namespace {

constexpr std::int64_t kInvariantSplitSize = 1024;
// Equal shares are multiples of this: in GQA decode a tile for each warp, in reference decode as
// much as a merge is worth.
constexpr std::int64_t kGroupShareMin = 64;
constexpr std::int64_t kReferenceShareMin = 256;
// Where a batch fills the card without splits, shares are at least this long, and at most as many,
// because they only shorten the time at the end in which part of the card is idle.
constexpr std::int64_t kTailShareMin = 1024;
constexpr std::int64_t kTailSharesMax = 4;
// Thread blocks on a multiprocessor that reference decode is planned for.
constexpr std::int64_t kReferenceBlocksPerSm = 2;
// The largest grid size in the dimensions of splits and of sequences in prefill.
constexpr std::int64_t kGridMax = 65535;
// The most rows of a sequence in prefill, one for each head of a group: kernels count them in int,
// in steps of a thread block's 64.
constexpr std::int64_t kPrefillRowsMax = (std::int64_t{1} << 31) - 64;
// The rows of a matrix product, which are the query heads of one thread block.
constexpr std::int64_t kGroupTile = 16;

Status check_kernel(const AttentionPlan& plan, const PagedAttentionInputs& inputs) {
  AttentionOutputs outputs;
  outputs.out.type = inputs.q.type;
  switch (plan.kernel) {
    case AttentionKernel::kReferenceDecode:
      return kernels::check_served(decode_params(plan, inputs, outputs).decode);
    case AttentionKernel::kGqaDecode:
      return kernels::check_group_served(decode_params(plan, inputs, outputs));
    case AttentionKernel::kTmaDecode:
      return kernels::check_tma_served(decode_params(plan, inputs, outputs));
    case AttentionKernel::kPrefill:
      return kernels::check_prefill(prefill_params(plan, inputs, outputs));
  }
  return refusal("kernel", "one of AttentionKernel", std::to_string(static_cast<int>(plan.kernel)));
}

// Types and head dims without any instantiation are reported first, with a list of those that
// exist.
Status check_served(const AttentionPlan& plan, const PagedAttentionInputs& inputs) {
  const Status served = check_kernel(plan, inputs);
  if (served.is_ok()) return served;
  RECTO_RETURN_IF_ERROR(check_instantiated(plan.kernel, inputs));
  return served.in(attention_kernel_name(plan.kernel));
}

AttentionKernel chosen_kernel(const PagedAttentionInputs& inputs, const PlanOptions& options) {
  if (options.kernel) return *options.kernel;
  if (options.max_query_length != 1) return AttentionKernel::kPrefill;
  // In batch-invariant mode the number of rows must not matter; check_plan() refuses batches that
  // decode kernels do not support.
  if (options.batch_invariance == BatchInvariance::kNone &&
      inputs.q.num_rows != inputs.block_table.num_seqs) {
    return AttentionKernel::kPrefill;
  }
  const AttentionPlan plan = {.kernel = AttentionKernel::kGqaDecode};
  return check_kernel(plan, inputs).is_ok() ? AttentionKernel::kGqaDecode
                                            : AttentionKernel::kReferenceDecode;
}

std::int64_t divided_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

std::int64_t thread_blocks_without_splits(AttentionKernel kernel,
                                          const PagedAttentionInputs& inputs) {
  if (kernel == AttentionKernel::kReferenceDecode) return inputs.q.num_rows * inputs.q.num_heads;
  const std::int64_t heads = inputs.kv.k.num_kv_heads;
  return inputs.q.num_rows * heads * divided_up(inputs.q.num_heads / heads, kGroupTile);
}

// The thread blocks of a call without splits, and the room for them.
struct CardLoad {
  std::int64_t blocks;
  std::int64_t slots;      // for thread blocks, on all multiprocessors
  std::int64_t context;    // keys of each
  std::int64_t share_min;  // keys of the smallest share

  // The part of the card that is busy if each context is divided into at most `shares`, in
  // millionths: thread blocks of equal work run in waves.
  std::int64_t busy_part(std::int64_t shares) const {
    const std::int64_t parts = divided_up(context, share_min);
    const std::int64_t there = blocks * divided_up(parts, divided_up(parts, shares));
    return 1'000'000 * there / (divided_up(there, slots) * slots);
  }
};

// The least number of shares of a context with which nearly as much of the card is busy as with
// any.
std::int64_t chosen_shares(const CardLoad& load) {
  const std::int64_t in_one_wave =
      std::min({load.slots / load.blocks, divided_up(load.context, load.share_min), kGridMax});
  const std::int64_t most = std::max(
      {std::int64_t{1}, in_one_wave, std::min(kTailSharesMax, load.context / kTailShareMin)});
  std::int64_t best = 0;
  for (std::int64_t shares = 1; shares <= most; ++shares) {
    best = std::max(best, load.busy_part(shares));
  }
  std::int64_t shares = 1;
  while (8 * load.busy_part(shares) < 7 * best) ++shares;
  return shares;
}

void choose_splits(const PagedAttentionInputs& inputs, const PlanOptions& options,
                   AttentionPlan& plan) {
  const bool is_invariant = options.batch_invariance == BatchInvariance::kRows;
  if (options.split_size || is_invariant) {
    plan.split_size = options.split_size.value_or(kInvariantSplitSize);
    plan.num_splits = kernels::num_splits(options.max_context_length, plan.split_size);
    return;
  }
  const bool is_reference = plan.kernel == AttentionKernel::kReferenceDecode;
  const kernels::SplitDecodeParams params = decode_params(plan, inputs, {});
  const std::int64_t blocks_per_sm = is_reference ? kReferenceBlocksPerSm
                                     : plan.kernel == AttentionKernel::kTmaDecode
                                         ? kernels::tma_blocks_per_sm(params)
                                         : kernels::gqa_blocks_per_sm(params);
  plan.split_rule = kernels::SplitRule::kEqualShares;
  plan.split_size = is_reference ? kReferenceShareMin : kGroupShareMin;
  plan.num_splits = chosen_shares(
      {.blocks = std::max<std::int64_t>(1, thread_blocks_without_splits(plan.kernel, inputs)),
       .slots = blocks_per_sm * options.num_multiprocessors,
       .context = options.max_context_length,
       .share_min = plan.split_size});
}

Status expect_within(const NamedSize& got, std::int64_t least,
                     std::int64_t most = std::numeric_limits<std::int32_t>::max()) {
  RECTO_RETURN_IF_ERROR(expect_at_least(got, least));
  return expect_at_most(got, most);
}

// Checks an enumerator. Its name must not be looked up before this check.
template <typename Enum>
Status expect_one_of(const char* field, Enum value, const char* type, Enum last) {
  if (static_cast<int>(value) <= static_cast<int>(last)) return Status::ok();
  return refusal(field, std::string("one of ") + type, std::to_string(static_cast<int>(value)));
}

// Checks the fields that options and plans share.
template <typename Limits>
Status check_limits(const char* name, const Limits& limits) {
  const NamedSize longest(name, "max_context_length", limits.max_context_length);
  if (longest.value < 1) {
    return refusal(longest.name(), "at least 1, the tokens of the longest context of any call",
                   longest.text());
  }
  RECTO_RETURN_IF_ERROR(expect_at_most(longest, kernels::kContextLengthMax));
  RECTO_RETURN_IF_ERROR(expect_within({name, "max_query_length", limits.max_query_length}, 1));
  return expect_one_of((std::string(name) + ".contents_check").c_str(), limits.contents_check,
                       "ContentsCheck", ContentsCheck::kOnDevice);
}

Status check_options(const PlanOptions& options) {
  RECTO_RETURN_IF_ERROR(check_limits("options", options));
  RECTO_RETURN_IF_ERROR(
      expect_within({"options", "num_multiprocessors", options.num_multiprocessors}, 1));
  RECTO_RETURN_IF_ERROR(expect_one_of("options.batch_invariance", options.batch_invariance,
                                      "BatchInvariance", BatchInvariance::kRows));
  if (options.kernel) {
    RECTO_RETURN_IF_ERROR(expect_one_of("options.kernel", *options.kernel, "AttentionKernel",
                                        AttentionKernel::kPrefill));
  }
  return expect_within({"options", "split_size", options.split_size.value_or(1)}, 1);
}

// A context must not have more splits than there is room for states.
Status check_splits(const AttentionPlan& plan) {
  RECTO_RETURN_IF_ERROR(expect_within({"plan", "split_size", plan.split_size}, 1));
  RECTO_RETURN_IF_ERROR(expect_one_of("plan.split_rule", plan.split_rule, "SplitRule",
                                      kernels::SplitRule::kEqualShares));
  const std::int64_t splits = kernels::num_splits(plan.max_context_length, plan.split_size);
  if (plan.split_rule == kernels::SplitRule::kEqualShares) {
    RECTO_RETURN_IF_ERROR(expect_within({"plan", "num_splits", plan.num_splits}, 1, splits));
  } else if (plan.num_splits != splits) {
    return refusal("plan.num_splits",
                   std::to_string(splits) + " from plan.max_context_length and plan.split_size",
                   std::to_string(plan.num_splits));
  }
  return expect_at_most({"plan", "num_splits", plan.num_splits}, kGridMax);
}

Status check_decode_plan(const AttentionPlan& plan, const PagedAttentionInputs& inputs) {
  if (plan.max_query_length != 1) {
    return refusal("plan.max_query_length", "1 for a decode kernel",
                   std::to_string(plan.max_query_length));
  }
  if (inputs.q.num_rows != inputs.block_table.num_seqs) {
    return refusal("q.num_rows",
                   std::to_string(inputs.block_table.num_seqs) +
                       " as in block_table.num_seqs: a decode kernel has one row per sequence; a "
                       "plan with max_query_length above 1 serves any number",
                   std::to_string(inputs.q.num_rows));
  }
  RECTO_RETURN_IF_ERROR(expect_at_most({"q", "num_heads", inputs.q.num_heads}, kGridMax));
  return check_splits(plan);
}

}  // namespace

Result<AttentionPlan> plan_attention(const PagedAttentionInputs& inputs,
                                     const PlanOptions& options) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs));
  return plan_checked(inputs, options);
}

Result<AttentionPlan> plan_checked(const PagedAttentionInputs& inputs, const PlanOptions& options) {
  RECTO_RETURN_IF_ERROR(check_options(options));
  AttentionPlan plan = {.kernel = chosen_kernel(inputs, options),
                        .max_context_length = options.max_context_length,
                        .max_query_length = options.max_query_length,
                        .contents_check = options.contents_check};
  if (plan.kernel != AttentionKernel::kPrefill) {
    choose_splits(inputs, options, plan);
  }
  RECTO_RETURN_IF_ERROR(check_plan(plan, inputs));
  WorkspaceParts parts(nullptr);
  take_attention_memory(plan, inputs, parts);
  plan.workspace_bytes = parts.bytes();
  return plan;
}

Status check_plan(const AttentionPlan& plan, const PagedAttentionInputs& inputs) {
  RECTO_RETURN_IF_ERROR(
      expect_one_of("plan.kernel", plan.kernel, "AttentionKernel", AttentionKernel::kPrefill));
  RECTO_RETURN_IF_ERROR(check_limits("plan", plan));
  const NamedSize num_seqs("block_table", "num_seqs", inputs.block_table.num_seqs);
  if (plan.kernel == AttentionKernel::kPrefill) {
    RECTO_RETURN_IF_ERROR(expect_at_most(num_seqs, kGridMax));
    RECTO_RETURN_IF_ERROR(
        expect_at_most({"kv.k", "num_kv_heads", inputs.kv.k.num_kv_heads}, kGridMax));
    RECTO_RETURN_IF_ERROR(
        expect_at_most({"plan", "max_query_length", plan.max_query_length},
                       kPrefillRowsMax / (inputs.q.num_heads / inputs.kv.k.num_kv_heads)));
    if (inputs.query_start.empty()) {
      return refusal("query_start", "the first row of each sequence", "none").in("prefill");
    }
  } else {
    RECTO_RETURN_IF_ERROR(check_decode_plan(plan, inputs));
  }
  return check_served(plan, inputs);
}

}  // namespace recto
