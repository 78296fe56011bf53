#include "cuda/cache_ops.h"

#include <kernel_dialect.h>

#include <string>

#include "core/attention_gate.h"
#include "core/refusal.h"
#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/contents_check.h"
#include "cuda/kernels/gather.h"
#include "cuda/launch.h"

namespace recto {
namespace {

static_assert(kContentsCheckBytes >= std::int64_t{sizeof(kernels::ContentsViolation)});

// Without a check no workspace is used.
GateOptions gate_of(const CacheOpOptions& options) {
  if (options.contents_check == ContentsCheck::kNone) return {};
  return {.workspace = written_of(options.workspace)};
}

// The memory to which a check writes its result; null without a check.
Result<kernels::ContentsViolation*> violation_of(const CacheOpOptions& options) {
  if (options.contents_check == ContentsCheck::kNone) return nullptr;
  if (options.contents_check != ContentsCheck::kOnDevice) {
    return refusal("options.contents_check", "one of ContentsCheck",
                   std::to_string(static_cast<int>(options.contents_check)));
  }
  RECTO_RETURN_IF_ERROR(check_workspace(options.workspace, kContentsCheckBytes));
  return static_cast<kernels::ContentsViolation*>(options.workspace.data);
}

Status refusal_of_slot(const kernels::ContentsViolation& found) {
  const std::string field = element_name("slot_mapping", found.index);
  const std::string value = std::to_string(found.value);
  switch (found.rule) {
    case kernels::ContentsRule::kNone:
      return Status::ok();
    case kernels::ContentsRule::kRepeatedSlot:
      return refusal(
          field, "a slot other than that of " + element_name("slot_mapping", found.other), value);
    default:
      return refusal(field,
                     "-1, or a slot id below kv.k.num_blocks * kv.k.block_size = " +
                         std::to_string(found.limit),
                     value);
  }
}

Status refusal_of_pair(const kernels::ContentsViolation& found, kernels::Caches caches) {
  const std::string value = std::to_string(found.value);
  const bool is_one = caches == kernels::Caches::kOne;
  const auto below = [&](const char* cache) {
    return std::string("a block id from 0 to below ") + (is_one ? "kv" : cache) +
           ".k.num_blocks = " + std::to_string(found.limit);
  };
  const std::string source = element_name("copies", found.index, ".source");
  const std::string destination = element_name("copies", found.index, ".destination");
  switch (found.rule) {
    case kernels::ContentsRule::kNone:
      return Status::ok();
    case kernels::ContentsRule::kSource:
      return refusal(source, below("from"), value);
    case kernels::ContentsRule::kDestination:
      return refusal(destination, below("to"), value);
    case kernels::ContentsRule::kRepeatedWrite:
      return refusal(destination,
                     "a block other than that of " + element_name("copies", found.other), value);
    default:
      return refusal(
          source,
          "a block that no copy writes (" + element_name("copies", found.other) + " writes it)",
          value);
  }
}

Status check_slots(const KvWriteInputs& inputs, kernels::RepeatedSlots repeated,
                   kernels::ContentsViolation* violation, KernelStream stream) {
  const MutableKvTensorView& k = inputs.kv.k;
  RECTO_RETURN_IF_ERROR(kernels::launch_slot_check({.slot_mapping = inputs.slot_mapping.data(),
                                                    .num_tokens = inputs.k.num_rows,
                                                    .num_slots = k.num_blocks * k.block_size,
                                                    .repeated = repeated,
                                                    .violation = violation},
                                                   stream));
  const Result<kernels::ContentsViolation> found = found_on_device(violation, stream);
  RECTO_RETURN_IF_ERROR(found.status());
  return refusal_of_slot(found.value());
}

// Within one cache, copied codes keep their scales.
Status check_copied_scales(const kernels::BlockCopyParams& params, kernels::Caches caches,
                           kernels::ContentsViolation* violation, KernelStream stream) {
  if (caches == kernels::Caches::kOne) return Status::ok();
  const KvNames from = {"from.k", "from.k.scale", "from.v", "from.v.scale"};
  const KvNames to = {"to.k", "to.k.scale", "to.v", "to.v.scale"};
  RECTO_RETURN_IF_ERROR(check_scales_on_device(from, params.from, violation, stream));
  return check_scales_on_device(to, as_const(params.to), violation, stream);
}

// Precondition: `params` have passed the gate.
Status run_checked(const kernels::BlockCopyParams& params, kernels::Caches caches,
                   const CacheOpOptions& options, KernelStream stream) {
  const Result<kernels::ContentsViolation*> violation = violation_of(options);
  RECTO_RETURN_IF_ERROR(violation.status());
  RECTO_RETURN_IF_ERROR(kernels::check_copy(params));
  if (violation.value() != nullptr && params.num_pairs > 0) {
    RECTO_RETURN_IF_ERROR(kernels::launch_pair_check({.pairs = params.pairs,
                                                      .num_pairs = params.num_pairs,
                                                      .num_sources = params.from.k.num_blocks,
                                                      .num_destinations = params.to.k.num_blocks,
                                                      .caches = caches,
                                                      .violation = violation.value()},
                                                     stream));
    const Result<kernels::ContentsViolation> found = found_on_device(violation.value(), stream);
    RECTO_RETURN_IF_ERROR(found.status());
    RECTO_RETURN_IF_ERROR(refusal_of_pair(found.value(), caches));
    RECTO_RETURN_IF_ERROR(check_copied_scales(params, caches, violation.value(), stream));
  }
  return kernels::launch_block_copy(params, stream);
}

Status refusal_of_rows(const kernels::ContentsViolation& found) {
  const std::string field = element_name("context_start", found.index);
  const std::string value = std::to_string(found.value);
  switch (found.rule) {
    case kernels::ContentsRule::kNone:
      return Status::ok();
    case kernels::ContentsRule::kSharedRows:
      return refusal(field, "rows apart from those of sequence " + std::to_string(found.other),
                     value);
    default:
      return refusal(field,
                     "0 to k.num_rows - " + element_name("context_length", found.index) + " = " +
                         std::to_string(found.limit),
                     value);
  }
}

// Checks tables and lengths first, because the check of rows relies on lengths.
Status check_gathered(const kernels::GatherParams& params, kernels::ContentsViolation* violation,
                      KernelStream stream) {
  const std::int64_t num_seqs = params.block_table.num_seqs;
  RECTO_RETURN_IF_ERROR(check_contents_on_device({.block_table = params.block_table,
                                                  .num_blocks = params.kv.k.num_blocks,
                                                  .block_size = params.kv.k.block_size,
                                                  .lengths = params.context_length,
                                                  .max_context_length = params.max_context_length,
                                                  .violation = violation},
                                                 stream, "max_context_length"));
  RECTO_RETURN_IF_ERROR(kernels::launch_row_check({.context_length = params.context_length,
                                                   .context_start = params.context_start,
                                                   .num_seqs = num_seqs,
                                                   .num_rows = params.k.num_rows,
                                                   .violation = violation},
                                                  stream));
  const Result<kernels::ContentsViolation> found = found_on_device(violation, stream);
  RECTO_RETURN_IF_ERROR(found.status());
  RECTO_RETURN_IF_ERROR(refusal_of_rows(found.value()));
  return check_scales_on_device({}, params.kv, violation, stream);
}

}  // namespace

Status run_kv_write(const KvWriteInputs& inputs, kernels::RepeatedSlots repeated,
                    const CacheOpOptions& options, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs, gate_of(options)));
  const kernels::KvWriteParams params = {.k = inputs.k,
                                         .v = inputs.v,
                                         .slot_mapping = inputs.slot_mapping.data(),
                                         .repeated_slots = repeated,
                                         .kv = inputs.kv};
  RECTO_RETURN_IF_ERROR(kernels::check_write(params));
  const Result<kernels::ContentsViolation*> violation = violation_of(options);
  RECTO_RETURN_IF_ERROR(violation.status());
  if (violation.value() != nullptr && inputs.k.num_rows > 0) {
    RECTO_RETURN_IF_ERROR(check_slots(inputs, repeated, violation.value(), stream));
    RECTO_RETURN_IF_ERROR(
        check_scales_on_device({}, as_const(inputs.kv), violation.value(), stream));
  }
  return kernels::launch_kv_write(params, stream);
}

Status run_block_copy(const MutablePagedKvView& kv, std::span<const BlockPair> copies,
                      const CacheOpOptions& options, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_shapes(kv, copies, gate_of(options)));
  const kernels::BlockCopyParams params = {
      .from = as_const(kv), .to = kv, .pairs = copies.data(), .num_pairs = std::ssize(copies)};
  return run_checked(params, kernels::Caches::kOne, options, stream);
}

Status run_block_swap(const PagedKvView& from, const MutablePagedKvView& to,
                      std::span<const BlockPair> copies, const CacheOpOptions& options,
                      KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_shapes(from, to, copies, gate_of(options)));
  const kernels::BlockCopyParams params = {
      .from = from, .to = to, .pairs = copies.data(), .num_pairs = std::ssize(copies)};
  return run_checked(params, kernels::Caches::kTwo, options, stream);
}

Status run_gather(const GatherInputs& inputs, std::int64_t max_context_length,
                  const CacheOpOptions& options, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs, gate_of(options)));
  const kernels::GatherParams params = {.kv = inputs.kv,
                                        .block_table = inputs.block_table,
                                        .context_length = inputs.context_length.data(),
                                        .context_start = inputs.context_start.data(),
                                        .max_context_length = max_context_length,
                                        .k = inputs.k,
                                        .v = inputs.v};
  RECTO_RETURN_IF_ERROR(kernels::check_gather(params));
  const Result<kernels::ContentsViolation*> violation = violation_of(options);
  RECTO_RETURN_IF_ERROR(violation.status());
  if (violation.value() != nullptr && inputs.block_table.num_seqs > 0) {
    RECTO_RETURN_IF_ERROR(check_gathered(params, violation.value(), stream));
  }
  return kernels::launch_gather(params, stream);
}

}  // namespace recto
