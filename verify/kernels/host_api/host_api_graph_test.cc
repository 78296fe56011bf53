// A step of the host API, captured once and replayed while contexts grow: the plan for the longest
// of them works for all.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/decode_step.h"
#include "reference/error_bound.h"
#include "reference/rounding.h"
#include "verify/comparison.h"
#include "verify/kernels/host_api/captured_step.h"
#include "verify/kernels/host_api/growing_batch.h"
#include "verify/kernels/kernel_numerics.h"

namespace recto::verify {
namespace {

constexpr int kSteps = 300;
constexpr std::int64_t kSeqs = 4;
constexpr std::int64_t kQHeads = 4;

GrowingShape shape_of(KvLayout layout, ElementType type) {
  GrowingShape shape = {.pool = {.layout = layout,
                                 .type = type,
                                 .num_blocks = 90,
                                 .block_size = 16,
                                 .num_kv_heads = 2,
                                 .head_dim_k = 64,
                                 .head_dim_v = 64},
                        .num_seqs = kSeqs,
                        .num_q_heads = kQHeads,
                        .max_blocks = kSteps / 16 + 1,
                        .stagger = 25};
  return shape;
}

struct alignas(16) Sixteen {
  std::byte at[16];
};

// The memory that a graph writes.
struct Outputs {
  std::vector<std::byte> out;
  std::vector<float> lse_ln;
  std::vector<Sixteen> workspace;

  Outputs(const GrowingShape& shape, std::int64_t workspace_bytes)
      : out(static_cast<std::size_t>(kSeqs * kQHeads * shape.pool.head_dim_v *
                                     element_bytes(shape.pool.type))),
        lse_ln(static_cast<std::size_t>(kSeqs * kQHeads)),
        workspace(static_cast<std::size_t>(workspace_bytes / 16 + 1)) {}

  AttentionOutputs views(const GrowingShape& shape) {
    return {.out = dense_rows<void*>(out.data(), shape.pool.type, kSeqs, kQHeads,
                                     shape.pool.head_dim_v),
            .lse_ln = lse_ln};
  }

  reference::AttentionResult result(const GrowingShape& shape) const {
    reference::AttentionResult seen(kSeqs, kQHeads, shape.pool.head_dim_v);
    reference::decode_row(out.data(), shape.pool.type, seen.out);
    seen.lse_ln.assign(lse_ln.begin(), lse_ln.end());
    return seen;
  }
};

DecodeStep step_of(const GrowingBatch& batch, const AttentionOptions& options) {
  return {.q = batch.q(),
          .new_k = batch.new_k(),
          .new_v = batch.new_v(),
          .kv = batch.pool(),
          .block_table = batch.block_table(),
          .cached_length = batch.cached_length(),
          .options = options};
}

void expect_right(const GrowingShape& shape, const AttentionPlan& plan,
                  const PagedAttentionInputs& inputs, const Outputs& outputs) {
  const ElementType type = shape.pool.type;
  const reference::KernelNumerics numerics = in_planned_splits(
      plan.kernel == AttentionKernel::kReferenceDecode
          ? decode_kernel_numerics(type, type, plan.num_splits == 1 ? 0 : plan.split_size)
          : gqa_decode_numerics(type, type, plan.split_size),
      plan);
  const reference::BoundedResult oracle = reference::bounded_attention(inputs, numerics);
  const Comparison comparison =
      compare(inputs, outputs.result(shape), oracle.exact, oracle.probabilistic);
  INFO(comparison.text());
  CHECK(comparison.passed());
}

void replay_while_contexts_grow(const GrowingShape& shape, const PlanOptions& options) {
  const AttentionOptions attention = {.scale = 0.125F};
  GrowingBatch batch(shape, 5);
  const DecodeStep step = step_of(batch, attention);
  const Result<AttentionPlan> plan = plan_decode_step(step, options);
  REQUIRE(plan.status() == Status::ok());
  Outputs outputs(shape, plan.value().workspace_bytes);
  const Workspace workspace = {.data = outputs.workspace.data(),
                               .bytes = plan.value().workspace_bytes};

  CapturedStep graph;
  REQUIRE(graph.capture(plan.value(), step, outputs.views(shape), workspace) == Status::ok());
  CHECK(graph.size() == (plan.value().num_splits > 1 ? 3 : 2));

  for (int i = 0; i < kSteps; ++i) {
    batch.draw_tokens();
    INFO("step " << i);
    REQUIRE(graph.replay() == Status::ok());
    const PagedAttentionInputs inputs = batch.append_by_reference(attention);
    if (i % 7 == 0 || i + 1 == kSteps) expect_right(shape, plan.value(), inputs, outputs);
  }
  CHECK(batch.has_equal_pools());
  CHECK(batch.context_length()[0] == kSteps);
}

TEST_CASE("graph-baked-dispatch: a graph captured once serves 300 steps") {
  PlanOptions options = {.max_context_length = kSteps};
  options.split_size = 48;
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    INFO(kv_layout_name(layout));
    replay_while_contexts_grow(shape_of(layout, ElementType::kBf16), options);
  }
  options.kernel = AttentionKernel::kReferenceDecode;
  replay_while_contexts_grow(shape_of(KvLayout::kTokenMajor, ElementType::kFp32), options);
  options.split_size = kSteps;
  options.kernel = AttentionKernel::kTmaDecode;
  replay_while_contexts_grow(shape_of(KvLayout::kHeadMajor, ElementType::kFp16), options);
}

TEST_CASE("a graph that checks contents cannot be captured") {
  GrowingShape shape = shape_of(KvLayout::kTokenMajor, ElementType::kBf16);
  GrowingBatch batch(shape, 6);
  const DecodeStep step = step_of(batch, {});
  PlanOptions options = {.max_context_length = kSteps};
  options.contents_check = ContentsCheck::kOnDevice;
  const AttentionPlan plan = plan_decode_step(step, options).value();
  Outputs outputs(shape, plan.workspace_bytes);
  CapturedStep graph;
  CHECK(graph.capture(plan, step, outputs.views(shape),
                      {.data = outputs.workspace.data(), .bytes = plan.workspace_bytes}) !=
        Status::ok());
}

}  // namespace
}  // namespace recto::verify
