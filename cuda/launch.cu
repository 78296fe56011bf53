#include "cuda/launch.h"

#include <kernel_dialect.h>

#include <bit>
#include <cstdint>
#include <string>

#include "core/refusal.h"
#include "cuda/kernel_params.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/tma_decode.h"

namespace recto {
namespace {

Status refusal_of(const kernels::ContentsViolation& found, std::int64_t added_tokens,
                  const char* longest) {
  const std::string value = std::to_string(found.value);
  const std::string limit = std::to_string(found.limit);
  const std::string context = added_tokens == 0
                                  ? element_name("context_length", found.index)
                                  : element_name("cached_length", found.index) + " + 1";
  const std::string end = element_name("query_start", found.index + 1);
  switch (found.rule) {
    using enum kernels::ContentsRule;
    case kNone:
      return Status::ok();
    case kQueryStartFirst:
      return refusal("query_start[0]", "0", value);
    case kQueryStartAscends:
      return refusal(end, "at least " + limit + " (the entry before it)", value);
    case kQueryLength:
      return refusal(end, "at most plan.max_query_length = " + limit + " rows of the sequence",
                     value);
    case kQueryStartEnd:
      return refusal(end, limit + " as q.num_rows", value);
    case kContextNegative:
      return refusal(context, "at least 0", value);
    case kContextBeyondPlan:
      return refusal(context, std::string("at most ") + longest + " = " + limit, value);
    case kContextBeyondTable:
      return refusal(context, "at most block_table.max_blocks * kv.k.block_size = " + limit, value);
    case kPositionBeyondRotary:
      return refusal(element_name("cached_length", found.index),
                     "below rotary.cosines.num_rows = " + limit, value);
    case kBlockId:
      return refusal(element_name(element_name("block_table", found.index), found.other),
                     "a block id from 0 to below kv.k.num_blocks = " + limit, value);
    default:
      return Status::failed("contents_check: unknown rule");
  }
}

Status launch_decode(const AttentionPlan& plan, const kernels::SplitDecodeParams& params,
                     KernelStream stream) {
  switch (plan.kernel) {
    case AttentionKernel::kGqaDecode:
      RECTO_RETURN_IF_ERROR(kernels::launch_gqa_decode(params, stream));
      break;
    case AttentionKernel::kTmaDecode:
      RECTO_RETURN_IF_ERROR(kernels::launch_tma_decode(params, stream));
      break;
    default:
      if (params.num_splits == 1) {
        return kernels::launch_reference_decode(params.decode, stream);
      }
      RECTO_RETURN_IF_ERROR(kernels::launch_split_decode(params, stream));
  }
  if (params.num_splits == 1) return Status::ok();
  return kernels::launch_split_merge(params, stream);
}

}  // namespace

std::span<std::byte> written_of(const Workspace& workspace) {
  if (workspace.data == nullptr || workspace.bytes <= 0) return {};
  return {static_cast<std::byte*>(workspace.data), static_cast<std::size_t>(workspace.bytes)};
}

Status check_workspace(const Workspace& workspace, std::int64_t bytes) {
  RECTO_RETURN_IF_ERROR(expect_at_least({"workspace", "bytes", workspace.bytes}, bytes));
  if (bytes == 0) return Status::ok();
  if (workspace.data == nullptr) return refusal("workspace.data", "memory", "null");
  const auto address = reinterpret_cast<std::uintptr_t>(workspace.data);
  if (address % Workspace::kAlignment == 0) return Status::ok();
  return refusal("workspace.data", "an address at a multiple of 16 bytes",
                 std::to_string(address % Workspace::kAlignment) + " bytes behind one");
}

kernels::ContentsCheckParams contents_params(const AttentionPlan& plan,
                                             const PagedAttentionInputs& inputs,
                                             kernels::ContentsViolation* violation) {
  return {.block_table = inputs.block_table,
          .num_blocks = inputs.kv.k.num_blocks,
          .block_size = inputs.kv.k.block_size,
          .query_start = inputs.query_start.data(),
          .lengths = inputs.context_length.data(),
          .num_query_rows = inputs.q.num_rows,
          .max_query_length = plan.max_query_length,
          .max_context_length = plan.max_context_length,
          .violation = violation};
}

Result<kernels::ContentsViolation> found_on_device(const kernels::ContentsViolation* violation,
                                                   KernelStream stream) {
  kernels::ContentsViolation found;
  const KernelStatus status = read_back(&found, violation, sizeof found, stream);
  if (status.error != nullptr) return Status::failed(status.error).in("contents check");
  return found;
}

Status check_contents_on_device(const kernels::ContentsCheckParams& params, KernelStream stream,
                                const char* longest) {
  RECTO_RETURN_IF_ERROR(kernels::launch_contents_check(params, stream));
  const Result<kernels::ContentsViolation> found = found_on_device(params.violation, stream);
  RECTO_RETURN_IF_ERROR(found.status());
  return refusal_of(found.value(), params.added_tokens, longest);
}

Status check_scales_on_device(const KvNames& names, const PagedKvView& kv,
                              kernels::ContentsViolation* violation, KernelStream stream) {
  const auto count = [](const KvTensorView& tensor) -> std::int64_t {
    if (tensor.scale.kind == ScaleKind::kNone) return 0;
    return tensor.scale.kind == ScaleKind::kPerTensor ? 1 : tensor.num_kv_heads;
  };
  const kernels::ScaleCheckParams params = {.k = kv.k.scale.data,
                                            .num_k = count(kv.k),
                                            .v = kv.v.scale.data,
                                            .num_v = count(kv.v),
                                            .violation = violation};
  if (params.num_k + params.num_v == 0) return Status::ok();
  RECTO_RETURN_IF_ERROR(kernels::launch_scale_check(params, stream));
  const Result<kernels::ContentsViolation> found = found_on_device(violation, stream);
  RECTO_RETURN_IF_ERROR(found.status());
  if (found.value().rule == kernels::ContentsRule::kNone) return Status::ok();
  const bool is_k = found.value().rule == kernels::ContentsRule::kScaleK;
  const auto code = static_cast<std::uint32_t>(found.value().value);
  return refusal(element_name(is_k ? names.k_scale : names.v_scale, found.value().index),
                 "a finite number above 0", internal::describe(std::bit_cast<float>(code)));
}

Status launch_attention(const AttentionPlan& plan, const PagedAttentionInputs& inputs,
                        const AttentionOutputs& outputs, const AttentionMemory& memory,
                        KernelStream stream) {
  if (plan.kernel == AttentionKernel::kPrefill) {
    return kernels::launch_paged_prefill(prefill_params(plan, inputs, outputs), stream);
  }
  kernels::SplitDecodeParams params = decode_params(plan, inputs, outputs);
  params.states = memory.states;
  return launch_decode(plan, params, stream);
}

}  // namespace recto
