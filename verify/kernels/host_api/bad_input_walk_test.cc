// Bad input, field by field: attention, steps, plans. (Engines' shapes:
// bad_input_shapes_walk_test.cc; moving K and V: bad_input_cache_walk_test.cc.)

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "verify/kernels/host_api/bad_input_walk.h"

namespace recto::verify {
namespace {

const std::vector<std::string> kAllKinds = {"shape",     "stride",      "type",
                                            "null",      "misaligned",  "overlap",
                                            "workspace", "unsupported", "contents"};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void add_options(Faults& faults, const FieldOf<AttentionOptions>& options) {
  const FaultNames names = {"options", "options"};
  faults.add(names.of("scale"), "shape", options, &AttentionOptions::scale, kNan);
  faults.add(names.of("softcap"), "shape", options, &AttentionOptions::softcap, -1.0F);
  faults.add(names.of("window"), "shape", options, &AttentionOptions::window, 0);
  const auto span = [&](std::span<const float> AttentionOptions::*member) {
    return FieldOf<std::span<const float>>(
        [=](WalkCall& call) -> std::span<const float>& { return options(call).*member; });
  };
  faults.add_span({"options.alibi_slopes", "options.alibi_slopes"},
                  span(&AttentionOptions::alibi_slopes));
  faults.add_span({"options.sinks", "options.sinks"}, span(&AttentionOptions::sinks));
}

void add_plan(Faults& faults, const FieldOf<AttentionPlan>& plan) {
  using Plan = AttentionPlan;
  const FaultNames names = {"plan", "plan"};
  faults.add(names.of("kernel"), "type", plan, &Plan::kernel, static_cast<AttentionKernel>(9));
  faults.add(names.of("split_rule"), "type", plan, &Plan::split_rule,
             static_cast<kernels::SplitRule>(5));
  faults.add(names.of("split_size"), "shape", plan, &Plan::split_size, 0);
  faults.add(names.of("num_splits"), "shape", plan, &Plan::num_splits, 3);
  for (const std::int64_t none : {-1, 0}) {
    faults.add(names.of("max_context_length"), "shape", plan, &Plan::max_context_length, none);
  }
  faults.add(names.of("max_query_length"), "shape", plan, &Plan::max_query_length, 0);
  faults.add(names.of("contents_check"), "type", plan, &Plan::contents_check,
             static_cast<ContentsCheck>(7));
}

void add_outputs(Faults& faults) {
  faults.add_rows({"out", "out"}, RECTO_FIELD(MutableRowsView, api.attention.out));
  faults.add_span({"lse_ln", "lse_ln"}, RECTO_FIELD(std::span<float>, api.attention.lse_ln));
  faults.add(
      "out.data", "overlap", [](auto& c) { c.api.attention.out.data = c.api.k.data(); },
      "out.data: expected memory apart from kv.k at [");
  faults.add_workspace("workspace", RECTO_FIELD(Workspace, api.workspace));
  faults.add(
      "workspace.data", "overlap",
      [](auto& c) {
        c.api.workspace = {c.api.v.data(), 1 << 12};
      },
      "workspace.data: expected memory apart from kv.v at [");
}

TEST_CASE("run_attention refuses a wrong value in any field of its arguments") {
  Faults faults;
  faults.add_rows({"q", "q"}, RECTO_FIELD(RowsView, api.inputs.q));
  faults.add_cache({"kv.k", "kv.k"}, RECTO_FIELD(KvTensorView, api.inputs.kv.k));
  faults.add_cache({"kv.v", "kv.v"}, RECTO_FIELD(KvTensorView, api.inputs.kv.v));
  faults.add_table({"block_table", "block_table"},
                   RECTO_FIELD(BlockTableView, api.inputs.block_table));
  faults.add_span({"query_start", "query_start"},
                  RECTO_FIELD(std::span<const std::int32_t>, api.inputs.query_start));
  faults.add_span({"context_length", "context_length"},
                  RECTO_FIELD(std::span<const std::int32_t>, api.inputs.context_length));
  add_options(faults, RECTO_FIELD(AttentionOptions, api.inputs.options));
  add_plan(faults, RECTO_FIELD(AttentionPlan, api.plan));
  add_outputs(faults);
  faults.add(
      "q.type", "unsupported",
      [](auto& c) { c.api.inputs.q.type = c.api.attention.out.type = ElementType::kBf16; },
      "kv.k.type: expected one of bf16, e4m3, e5m2 as q.type is bf16, got fp16");
  faults.add(
      "plan.kernel", "unsupported",
      [](auto& c) {
        c.api.plan.kernel = AttentionKernel::kPrefill;
        c.api.inputs.query_start = {};
      },
      "prefill: query_start: expected the first row of each sequence, got none");
  faults.add(
      "context_length.data", "contents", [](auto& c) { c.api.batch.context_length[0] = 49; },
      "context_length[0]: expected at most plan.max_context_length = 48, got 49");
  faults.add(
      "block_table.data", "contents", [](auto& c) { c.api.batch.block_table[0] = kBlocks; },
      "block_table[0][0]: expected a block id");
  faults.add(
      "query_start.data", "contents", [](auto& c) { c.api.batch.query_start[3] = 2; },
      "query_start[3]: expected 3 as q.num_rows, got 2");
  const LeafWalk w;
  walk({.run = [](WalkCall& c, simt::Stream& stream) { return run_call(c.api, stream); },
        .fields = joined({leaves(w, "", PagedAttentionInputs()), leaves(w, "", AttentionOutputs()),
                          leaves(w, "plan", AttentionPlan()), leaves(w, "workspace", Workspace())}),
        // Both values of `causal` are valid; the required workspace is computed again.
        .free = {"options.causal", "plan.workspace_bytes"},
        .kinds = kAllKinds},
       faults);
}

void add_rotary(Faults& faults) {
  const FaultNames names = {"rotary", "rotary"};
  const FieldOf<kernels::Rotary> rotary = RECTO_FIELD(kernels::Rotary, api.step.rotary);
  faults.add(names.of("dim"), "shape", rotary, &kernels::Rotary::dim, 3);
  faults.add(names.of("pairing"), "type", rotary, &kernels::Rotary::pairing,
             static_cast<kernels::RotaryPairing>(2));
  faults.add_rows({"rotary.cosines", "rotary.cosines"},
                  RECTO_FIELD(RowsView, api.step.rotary.cosines));
  faults.add_rows({"rotary.sines", "rotary.sines"}, RECTO_FIELD(RowsView, api.step.rotary.sines));
  faults.add(
      "rotary.cosines.data", "overlap",
      [](auto& c) { c.api.step.rotary.cosines.data = c.api.k.data(); },
      "rotary.cosines.data: expected memory apart from kv.k at [");
  faults.add(
      "rotary.cosines.num_rows", "contents",
      [](auto& c) { c.api.step.rotary.cosines.num_rows = c.api.step.rotary.sines.num_rows = 32; },
      "cached_length[2]: expected below rotary.cosines.num_rows = 32, got 32");
}

TEST_CASE("run_decode_step refuses a wrong value in any field of its arguments") {
  Faults faults;
  faults.add_rows({"q", "q"}, RECTO_FIELD(RowsView, api.step.q));
  faults.add_rows({"new_k", "new_k"}, RECTO_FIELD(RowsView, api.step.new_k));
  faults.add_rows({"new_v", "new_v"}, RECTO_FIELD(RowsView, api.step.new_v));
  faults.add_cache({"kv.k", "kv.k"}, RECTO_FIELD(MutableKvTensorView, api.step.kv.k));
  faults.add_cache({"kv.v", "kv.v"}, RECTO_FIELD(MutableKvTensorView, api.step.kv.v));
  faults.add_table({"block_table", "block_table"},
                   RECTO_FIELD(BlockTableView, api.step.block_table));
  faults.add_span({"cached_length", "cached_length"},
                  RECTO_FIELD(std::span<const std::int32_t>, api.step.cached_length));
  add_rotary(faults);
  add_options(faults, RECTO_FIELD(AttentionOptions, api.step.options));
  add_plan(faults, RECTO_FIELD(AttentionPlan, api.step_plan));
  add_outputs(faults);
  faults.add(
      "new_k.data", "overlap", [](auto& c) { c.api.step.new_k.data = c.api.k.data(); },
      "new_k.data: expected memory apart from kv.k at [");
  faults.add(
      "plan.kernel", "unsupported",
      [](auto& c) { c.api.step_plan.kernel = AttentionKernel::kPrefill; },
      "prefill: query_start: expected the first row of each sequence, got none");
  faults.add(
      "cached_length.data", "contents", [](auto& c) { c.api.batch.cached[0] = 48; },
      "cached_length[0] + 1: expected at most plan.max_context_length = 48, got 49");
  const LeafWalk w;
  walk({.run = [](WalkCall& c, simt::Stream& stream) { return run_step(c.api, stream); },
        .fields = joined({leaves(w, "", DecodeStep()), leaves(w, "", AttentionOutputs()),
                          leaves(w, "plan", AttentionPlan()), leaves(w, "workspace", Workspace())}),
        .free = {"options.causal", "plan.workspace_bytes"},
        .kinds = kAllKinds},
       faults);
}

TEST_CASE("planning refuses a wrong value in any option") {
  const FieldOf<PlanOptions> options = RECTO_FIELD(PlanOptions, api.options);
  const FaultNames names = {"options", "options"};
  Faults faults;
  faults.add(
      "options.max_context_length", "shape", [](auto& c) { c.api.options.max_context_length = -1; },
      "options.max_context_length: expected at least 1, the tokens of the longest context");
  faults.add(
      "options.max_context_length", "shape", [](auto& c) { c.api.options.max_context_length = 0; },
      "options.max_context_length: expected at least 1, the tokens of the longest context");
  faults.add(names.of("max_query_length"), "shape", options, &PlanOptions::max_query_length, 0);
  faults.add(names.of("num_multiprocessors"), "shape", options, &PlanOptions::num_multiprocessors,
             0);
  faults.add(names.of("batch_invariance"), "type", options, &PlanOptions::batch_invariance,
             static_cast<BatchInvariance>(2));
  faults.add(names.of("contents_check"), "type", options, &PlanOptions::contents_check,
             static_cast<ContentsCheck>(2));
  faults.add(names.of("kernel"), "type", options, &PlanOptions::kernel,
             static_cast<AttentionKernel>(4));
  faults.add(names.of("split_size"), "shape", options, &PlanOptions::split_size, 0);
  for (const Run plan : {plan_call, plan_step}) {
    walk({.run = [=](WalkCall& c, simt::Stream& stream) { return plan(c.api, stream); },
          .fields = leaves(LeafWalk(), "options", PlanOptions()),
          .free = {},
          .kinds = {"shape", "type"}},
         faults);
  }
}

}  // namespace
}  // namespace recto::verify
