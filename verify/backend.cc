#include "verify/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/contract.h"
#include "reference/fp32_state.h"
#include "reference/low_precision_attention.h"
#include "verify/decode_step_backend.h"

namespace recto::verify {
namespace {

std::int64_t longest_context(const PagedAttentionInputs& inputs) {
  std::int64_t longest = 0;
  for (const std::int32_t length : inputs.context_length)
    longest = std::max<std::int64_t>(longest, length);
  return longest;
}

constexpr Capabilities kFixedAndIndependent = {
    .has_fixed_tiles = true, .has_independent_rows = true, .has_independent_sequences = true};

std::optional<std::string> takes_all(const PagedAttentionInputs& /*inputs*/,
                                     const CallOptions& /*options*/) {
  return std::nullopt;
}

reference::KernelNumerics naive_numerics(const PagedAttentionInputs& inputs,
                                         const CallOptions& /*options*/) {
  return reference::fp64_numerics(std::max<std::int64_t>(1, longest_context(inputs)));
}

// All keys of a row are one tile.
Backend naive_backend() {
  return {.name = "naive-fp64",
          .capabilities = kFixedAndIndependent,
          .attend = always_done(reference::paged_attention),
          .numerics_of = naive_numerics,
          .refusal = takes_all};
}

// A block is a tile.
Backend online_backend() {
  return {.name = "online-fp64",
          .capabilities = {.has_independent_rows = true, .has_independent_sequences = true},
          .attend = always_done(reference::paged_attention_over_blocks),
          .numerics_of =
              [](const PagedAttentionInputs& inputs, const CallOptions&) {
                return reference::fp64_numerics(inputs.kv.k.block_size);
              },
          .refusal = takes_all,
          .state_merge = StateMerge{.merge = reference::merge, .type = StateType::kFp64}};
}

// Passes the newest token's K and V from outside the cache, then computes as naive_backend().
Backend decode_step_reference() {
  Backend backend = decode_step_backend(
      "decode-step-fp64",
      [](const DecodeStepInputs& inputs, const CallOptions&) {
        return reference::decode_step(inputs);
      },
      naive_numerics);
  backend.capabilities = kFixedAndIndependent;
  return backend;
}

Backend low_precision_backend(ElementType q_type, const std::string& way,
                              const reference::LowPrecisionOptions& usual) {
  const auto split_as = [usual](const CallOptions& options) {
    reference::LowPrecisionOptions split = usual;
    split.split_size = options.split_size.value_or(usual.split_size);
    return split;
  };
  Backend backend{
      .name = fmt::format("{}-{}", way, element_type_name(q_type)),
      .capabilities = kFixedAndIndependent,
      .attend =
          [split_as](const PagedAttentionInputs& inputs, const CallOptions& options) {
            return Done{reference::low_precision_attention(inputs, split_as(options))};
          },
      .numerics_of =
          [split_as](const PagedAttentionInputs& inputs, const CallOptions& options) {
            return reference::low_precision_numerics(inputs, split_as(options));
          },
      .refusal = [q_type](const PagedAttentionInputs& inputs,
                          const CallOptions&) -> std::optional<std::string> {
        if (inputs.q.type == q_type) return std::nullopt;
        return fmt::format("q is not {}", element_type_name(q_type));
      },
      .state_merge = StateMerge{.merge = reference::merge_in_fp32, .type = StateType::kFp32}};
  backend.capabilities.takes_split_size = true;
  return backend;
}

}  // namespace

CallOutcome guarded(const std::function<CallOutcome()>& call) {
  try {
    return call();
  } catch (const std::exception& exception) {
    return Failed{kThrown, exception.what()};
  } catch (...) {
    return Failed{kThrown, "something other than a std::exception"};
  }
}

reference::AttentionResult result_of(CallOutcome outcome) {
  if (const auto* failed = std::get_if<Failed>(&outcome)) RECTO_CHECK_EQ(failed->message, "");
  if (const auto* refused = std::get_if<Unsupported>(&outcome)) RECTO_CHECK_EQ(refused->reason, "");
  return std::get<Done>(std::move(outcome)).result;
}

Result<reference::AttentionResult> result_or_reason(CallOutcome outcome) {
  if (const auto* refused = std::get_if<Unsupported>(&outcome))
    return Status::failed(refused->reason);
  if (const auto* failed = std::get_if<Failed>(&outcome)) return Status::failed(failed->message);
  return std::get<Done>(std::move(outcome)).result;
}

std::optional<std::string> Backend::why_unsupported(const PagedAttentionInputs& inputs,
                                                    const CallOptions& options) const {
  if (refusal) return refusal(inputs, options);
  if (!attend) return std::nullopt;
  const CallOutcome outcome = call(inputs, options);
  const auto* const refused = std::get_if<Unsupported>(&outcome);
  return refused == nullptr ? std::nullopt : std::optional(refused->reason);
}

Placement Backend::tolerated(Placement placement) const {
  placement.poison = limited(placement.poison, capabilities.poison);
  placement.tails = std::min(placement.tails, capabilities.tails);
  return placement;
}

CallOptions Backend::options_for(const Placement& placement) const {
  CallOptions options;
  if (capabilities.takes_out_gaps) {
    options.out_gaps = RowGaps{.rows = placement.row_padding + placement.gaps.out_rows,
                               .heads = placement.gaps.out_heads};
  }
  return options;
}

std::function<CallOutcome(const PagedAttentionInputs&, const CallOptions&)> always_done(
    std::function<reference::AttentionResult(const PagedAttentionInputs&)> attend) {
  return [attend = std::move(attend)](const PagedAttentionInputs& inputs, const CallOptions&) {
    return Done{attend(inputs)};
  };
}

std::vector<Backend> reference_backends() {
  std::vector<Backend> backends = {naive_backend(), online_backend(), decode_step_reference()};
  for (const ElementType q_type : {ElementType::kFp32, ElementType::kFp16, ElementType::kBf16})
    backends.push_back(low_precision_backend(q_type, "low-precision", {}));
  // As on tensor cores: truncated sums of 16 terms. Few contexts are multiples of these tiles and
  // splits.
  const reference::LowPrecisionOptions split = {
      .tile_size = 24,
      .split_size = 96,
      .terms_per_step = 16,
      .rounding = reference::AccumulatorRounding::kTruncate,
      .summed_weights = reference::SummedWeights::kRounded};
  for (const ElementType q_type : {ElementType::kFp16, ElementType::kBf16})
    backends.push_back(low_precision_backend(q_type, "split-truncating", split));
  return backends;
}

}  // namespace recto::verify
