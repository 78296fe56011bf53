// Plans with changed fields, misplaced workspaces and tables of angles: each is refused before
// anything is written. Also: the size of a workspace.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "verify/kernels/host_api/host_api_call.h"

namespace recto::verify {
namespace {

TEST_CASE("a plan with inconsistent or invalid fields is refused") {
  const std::string by = " from plan.max_context_length and plan.split_size, got ";
  expect_refused({
      {run_call,
       [](auto& c) {
         c.plan.split_rule = kernels::SplitRule::kFixedSize;
         c.plan.split_size = 16;
       },
       "plan.num_splits: expected 3" + by + "1"},
      {run_call,
       [](auto& c) {
         c.plan.split_rule = kernels::SplitRule::kFixedSize;
         c.plan.num_splits = 2;
       },
       "plan.num_splits: expected 1" + by + "2"},
      {run_call,
       [](auto& c) {
         c.plan.split_rule = kernels::SplitRule::kFixedSize;
         c.plan.max_context_length = 1000;
       },
       "plan.num_splits: expected 16" + by + "1"},
      {run_call, [](auto& c) { c.plan.num_splits = 2; },
       "plan.num_splits: expected at most 1, got 2"},
      {run_call, [](auto& c) { c.plan.num_splits = 0; },
       "plan.num_splits: expected at least 1, got 0"},
      {run_call, [](auto& c) { c.plan.split_rule = static_cast<kernels::SplitRule>(2); },
       "plan.split_rule: expected one of SplitRule, got 2"},
      {run_call, [](auto& c) { c.plan.split_size = 0; },
       "plan.split_size: expected at least 1, got 0"},
      {run_call, [](auto& c) { c.plan.split_size = std::int64_t{1} << 31; },
       "plan.split_size: expected at most 2147483647, got 2147483648"},
      {run_call, [](auto& c) { c.plan.max_context_length = -1; },
       "plan.max_context_length: expected at least 1, the tokens of the longest context of any "
       "call, got -1"},
      {run_call, [](auto& c) { c.plan.max_query_length = 0; },
       "plan.max_query_length: expected at least 1, got 0"},
      {run_call, [](auto& c) { c.plan.max_query_length = 2; },
       "plan.max_query_length: expected 1 for a decode kernel, got 2"},
      {run_call, [](auto& c) { c.plan.kernel = static_cast<AttentionKernel>(77); },
       "plan.kernel: expected one of AttentionKernel, got 77"},
      {run_call, [](auto& c) { c.plan.contents_check = static_cast<ContentsCheck>(2); },
       "plan.contents_check: expected one of ContentsCheck, got 2"},
      {run_step, [](auto& c) { c.step_plan.split_size = 0; },
       "plan.split_size: expected at least 1, got 0"},
      {run_step,
       [](auto& c) {
         c.step_plan.split_rule = kernels::SplitRule::kFixedSize;
         c.step_plan.split_size = 16;
       },
       "plan.num_splits: expected 3" + by + "1"},
      {run_step, [](auto& c) { c.step_plan.kernel = AttentionKernel::kPrefill; },
       "prefill: query_start: expected the first row of each sequence, got none"},
      {plan_call, [](auto& c) { c.options.kernel = static_cast<AttentionKernel>(4); },
       "options.kernel: expected one of AttentionKernel, got 4"},
      {plan_call, [](auto& c) { c.options.batch_invariance = static_cast<BatchInvariance>(9); },
       "options.batch_invariance: expected one of BatchInvariance, got 9"},
      {plan_step, [](auto& c) { c.options.contents_check = static_cast<ContentsCheck>(3); },
       "options.contents_check: expected one of ContentsCheck, got 3"},
  });
}

// Moves the workspace to the first multiple of 16 bytes from `to` on.
template <typename T>
void move_workspace(ApiCall& call, T* to) {
  const auto address = (reinterpret_cast<std::uintptr_t>(to) + 15) / 16 * 16;
  call.workspace = {.data = reinterpret_cast<void*>(address), .bytes = 64};
}

TEST_CASE("a workspace lies apart from all that a call touches") {
  const auto apart = [](const std::string& name) {
    return "workspace.data: expected memory apart from " + name + " at [";
  };
  expect_refused({
      {run_call, [](auto& c) { move_workspace(c, c.k.data()); }, apart("kv.k")},
      {run_call, [](auto& c) { move_workspace(c, c.v.data() + 100); }, apart("kv.v")},
      {run_call, [](auto& c) { move_workspace(c, c.batch.q.data()); }, apart("q")},
      {run_call, [](auto& c) { move_workspace(c, c.outputs.out.data()); }, apart("out")},
      {run_call,
       [](auto& c) {
         move_workspace(c, c.outputs.lse_ln.data());
         c.attention.out.data = c.outputs.out.data();
       },
       apart("lse_ln")},
      {run_step, [](auto& c) { move_workspace(c, c.k.data() + kPoolSize - 32); }, apart("kv.k")},
      {run_step, [](auto& c) { move_workspace(c, c.batch.k.data()); }, apart("new_k")},
      {run_step, [](auto& c) { move_workspace(c, c.batch.v.data()); }, apart("new_v")},
      {run_step, [](auto& c) { move_workspace(c, c.outputs.out.data()); }, apart("out")},
  });
}

TEST_CASE("a step's rows lie apart from the cache that it writes") {
  expect_refused({
      {run_step, [](auto& c) { c.step.new_k.data = c.k.data(); },
       "new_k.data: expected memory apart from kv.k at ["},
      {run_step, [](auto& c) { c.step.new_v.data = c.k.data(); },
       "new_v.data: expected memory apart from kv.k at ["},
  });
}

RowsView angles(void* data) {
  return {.data = data,
          .type = kType,
          .num_rows = 4,
          .num_heads = 1,
          .head_dim = 4,
          .row_stride = 4,
          .head_stride = 4};
}

// Valid tables, in memory that no other argument uses.
void turn(ApiCall& call) {
  auto* memory = &call.outputs.workspace[4097 - 16].at[0];
  call.workspace.bytes = (1 << 16) - 256;
  call.step.rotary = {.dim = 8, .cosines = angles(memory), .sines = angles(memory + 16)};
  call.step_plan = plan_decode_step(call.step, call.options).value();
}

TEST_CASE("rotary tables obey the rules of rows, and lie apart from memory that is written") {
  const std::string cosines = "rotary.cosines.";
  const std::string sines = "rotary.sines.";
  expect_refused({
      {run_step, [](auto& c) { turn(c), c.step.rotary.cosines.data = c.k.data(); },
       cosines + "data: expected memory apart from kv.k at ["},
      {run_step, [](auto& c) { turn(c), c.step.rotary.sines.data = c.v.data(); },
       sines + "data: expected memory apart from kv.v at ["},
      {run_step, [](auto& c) { turn(c), c.step.rotary.sines.data = c.outputs.out.data(); },
       sines + "data: expected memory apart from out at ["},
      {run_step, [](auto& c) { turn(c), c.step.rotary.cosines.data = c.workspace.data; },
       "workspace.data: expected memory apart from rotary.cosines at ["},
      {run_step, [](auto& c) { turn(c), c.step.rotary.cosines.row_stride = -5; },
       cosines + "row_stride: expected at least 0, got -5"},
      {run_step,
       [](auto& c) {
         turn(c);
         c.step.rotary.cosines.num_rows = c.step.rotary.sines.num_rows = -3;
       },
       cosines + "num_rows: expected at least 1, got -3"},
      {run_step,
       [](auto& c) {
         turn(c);
         c.step.rotary.cosines.num_rows = c.step.rotary.sines.num_rows = 0;
       },
       cosines + "num_rows: expected at least 1, got 0"},
      {run_step,
       [](auto& c) {
         turn(c);
         c.step.rotary.cosines.type = c.step.rotary.sines.type = static_cast<ElementType>(77);
       },
       cosines + "type: expected fp32, fp16 or bf16, got 77"},
      {run_step, [](auto& c) { turn(c), c.step.rotary.sines.type = static_cast<ElementType>(5); },
       sines + "type: expected fp32, fp16 or bf16, got 5"},
      {run_step, [](auto& c) { turn(c), c.step.rotary.sines.num_heads = 2; },
       sines + "num_heads: expected 1, got 2"},
      {run_step,
       [](auto& c) { turn(c), c.step.rotary.pairing = static_cast<kernels::RotaryPairing>(2); },
       "rotary.pairing: expected one of RotaryPairing, got 2"},
  });
  simt::Executor executor({});
  ApiCall call;
  turn(call);
  call.step.rotary.cosines.data = static_cast<const std::byte*>(call.step.rotary.cosines.data) + 1;
  const Status odd = plan_decode_step(call.step, call.options).status();
  CHECK(odd.message().starts_with("rotary.cosines.data: expected a multiple of 2 bytes, got 0x"));
}

TEST_CASE("the device check refuses positions beyond the rotary tables") {
  expect_refused({
      {run_step,
       [](auto& c) {
         turn(c), c.batch.cached = {4, 0, 0};
       },
       "cached_length[0]: expected below rotary.cosines.num_rows = 4, got 4"},
      {run_step,
       [](auto& c) {
         turn(c), c.batch.cached = {3, 0, 5};
       },
       "cached_length[2]: expected below rotary.cosines.num_rows = 4, got 5"},
      {run_call,
       [](auto& c) {
         c.inputs.q.num_rows = c.attention.out.num_rows = 2;
         c.attention.lse_ln = c.attention.lse_ln.first(2 * kQHeads);
         c.options.max_query_length = 2;
         c.plan = plan_attention(c.inputs, c.options).value();
       },
       "query_start[3]: expected 2 as q.num_rows, got 3"},
  });
}

TEST_CASE("a workspace has exactly the bytes that the call needs") {
  simt::Executor executor({});
  ApiCall call;
  PlanOptions options = call.options;
  options.contents_check = ContentsCheck::kNone;
  const auto call_bytes = [&] {
    return plan_attention(call.inputs, options).value().workspace_bytes;
  };
  const auto step_bytes = [&] {
    return plan_decode_step(call.step, options).value().workspace_bytes;
  };
  constexpr std::int64_t kLengthsBytes = 16;  // three of 4 bytes, to the next multiple of 16
  constexpr std::int64_t kRowsBytes = kSeqs * kQHeads * kDim * 2;
  constexpr std::int64_t kStates = kSeqs * kQHeads * 3;
  constexpr std::int64_t kStatesBytes = kStates * (1 + 1 + kDim) * 4;
  CHECK(call_bytes() == 0);
  CHECK(step_bytes() == kLengthsBytes);
  options.split_size = 16;
  CHECK(call_bytes() == kStatesBytes);
  CHECK(step_bytes() == kStatesBytes + kLengthsBytes);
  turn(call);
  CHECK(step_bytes() == kStatesBytes + kLengthsBytes + kRowsBytes);
  options.split_size = 48;
  CHECK(step_bytes() == kLengthsBytes + kRowsBytes);
}

}  // namespace
}  // namespace recto::verify
