// The longest contexts that int can count: at the limit, every attention kernel gives the result of
// a short context whose window sees the same keys; one token more is refused.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/dense_kv_view.h"
#include "cuda/cache_ops.h"
#include "cuda/decode_step.h"
#include "cuda/kernels/limits.h"
#include "cuda/paged_attention.h"
#include "verify/kernels/host_api/caller_batch.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {
namespace {

using kernels::kContextLengthMax;

constexpr std::int64_t kBlockSize = 512;
constexpr std::int64_t kWindow = 8;

RowsView one_row(DeviceCodes& codes) {
  return dense_rows<const void*>(codes.data(), kType, 1, 1, kDim);
}

// A sequence whose logical blocks all map to the single physical block.
struct LongCall {
  explicit LongCall(std::int64_t context)
      : table(static_cast<std::size_t>((context + kBlockSize - 1) / kBlockSize), 0),
        context_length{static_cast<std::int32_t>(context)} {
    RandomStream random(3);
    for (DeviceCodes* codes : {&k, &v, &q}) codes->draw(random);
    kv = dense_kv_view({.layout = KvLayout::kHeadMajor,
                        .type = kType,
                        .num_blocks = 1,
                        .block_size = kBlockSize,
                        .num_kv_heads = 1,
                        .head_dim_k = kDim,
                        .head_dim_v = kDim},
                       k.data(), v.data())
             .value();
    const auto max_blocks = static_cast<std::int64_t>(table.size());
    inputs = {.q = one_row(q),
              .kv = as_const(kv),
              .block_table = {table.data(), 1, max_blocks, max_blocks},
              .query_start = query_start,
              .context_length = context_length};
    inputs.options.window = kWindow;
  }
  LongCall(const LongCall&) = delete;
  LongCall& operator=(const LongCall&) = delete;

  AttentionOutputs outputs() {
    return {.out = dense_rows<void*>(out.data(), kType, 1, 1, kDim), .lse_ln = lse_ln};
  }
  // All results.
  std::vector<float> results() {
    std::vector<float> results = lse_ln;
    for (std::int64_t i = 0; i < kDim; ++i) results.push_back(out[i]);
    return results;
  }

  std::vector<std::int32_t> table;
  std::vector<std::int32_t> context_length;
  std::vector<std::int32_t> query_start = {0, 1};
  DeviceCodes k{kBlockSize * kDim};
  DeviceCodes v{kBlockSize * kDim};
  DeviceCodes q{kDim};
  DeviceCodes out{kDim};
  std::vector<float> lse_ln = std::vector<float>(1, 7.0F);
  MutablePagedKvView kv;
  PagedAttentionInputs inputs;
};

PlanOptions options_of(AttentionKernel kernel, std::int64_t context, std::int64_t split_size) {
  PlanOptions options = {.max_context_length = context};
  options.kernel = kernel;
  options.split_size = split_size;
  return options;
}

std::vector<float> attended(AttentionKernel kernel, std::int64_t context, std::int64_t split_size) {
  LongCall call(context);
  const AttentionPlan plan =
      plan_attention(call.inputs, options_of(kernel, context, split_size)).value();
  std::vector<Memory16> memory(static_cast<std::size_t>(plan.workspace_bytes / 16 + 1));
  simt::Executor executor({});
  simt::Stream stream(executor);
  CHECK(run_attention(plan, call.inputs, call.outputs(), {memory.data(), plan.workspace_bytes},
                      &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  return call.results();
}

// The same slots of the same block, at the same distance from a tile's start.
std::int64_t short_context(std::int64_t context) { return kBlockSize + context % kBlockSize; }

TEST_CASE("attention over the longest context equals that over a short one with the same window") {
  for (const AttentionKernel kernel :
       {AttentionKernel::kReferenceDecode, AttentionKernel::kGqaDecode, AttentionKernel::kTmaDecode,
        AttentionKernel::kPrefill}) {
    for (const std::int64_t less : {0, 1, 31, 500}) {
      const std::int64_t context = kContextLengthMax - less;
      INFO(attention_kernel_name(kernel) << " of " << context);
      const std::vector<float> expected = attended(kernel, short_context(context), 1 << 20);
      CHECK(expected[0] != 7.0F);
      CHECK(attended(kernel, context, context) == expected);
      if (kernel == AttentionKernel::kPrefill) continue;
      // A window's first split contains the whole window.
      CHECK(attended(kernel, context, 1 << 20) == expected);
    }
  }
}

TEST_CASE("a context one token longer is refused, in options and in a changed plan") {
  LongCall call(kContextLengthMax);
  for (const AttentionKernel kernel :
       {AttentionKernel::kReferenceDecode, AttentionKernel::kGqaDecode, AttentionKernel::kTmaDecode,
        AttentionKernel::kPrefill}) {
    INFO(attention_kernel_name(kernel));
    CHECK(plan_attention(call.inputs, options_of(kernel, kContextLengthMax, INT32_MAX)).is_ok());
    CHECK(plan_attention(call.inputs, options_of(kernel, kContextLengthMax + 1, INT32_MAX))
              .status() ==
          Status::invalid_input("options.max_context_length: expected at most 2147483520, got "
                                "2147483521"));
    AttentionPlan plan =
        plan_attention(call.inputs, options_of(kernel, kContextLengthMax, INT32_MAX)).value();
    plan.max_context_length = kContextLengthMax + 1;
    simt::Executor executor({});
    simt::Stream stream(executor);
    CHECK(run_attention(plan, call.inputs, call.outputs(), {}, &stream) ==
          Status::invalid_input("plan.max_context_length: expected at most 2147483520, got "
                                "2147483521"));
    CHECK(stream.synchronise().passed());
    CHECK(call.lse_ln[0] == 7.0F);
  }
}

TEST_CASE("a step appends the last token of the longest context") {
  LongCall call(kContextLengthMax);
  DeviceCodes new_k(kDim);
  DeviceCodes new_v(kDim);
  RandomStream random(5);
  new_k.draw(random);
  new_v.draw(random);
  const std::vector<std::int32_t> cached = {static_cast<std::int32_t>(kContextLengthMax - 1)};
  const DecodeStep step = {.q = call.inputs.q,
                           .new_k = one_row(new_k),
                           .new_v = one_row(new_v),
                           .kv = call.kv,
                           .block_table = call.inputs.block_table,
                           .cached_length = cached,
                           .options = call.inputs.options};
  const PlanOptions options = options_of(AttentionKernel::kGqaDecode, kContextLengthMax, INT32_MAX);
  const AttentionPlan plan = plan_decode_step(step, options).value();
  std::vector<Memory16> memory(static_cast<std::size_t>(plan.workspace_bytes / 16 + 1));
  simt::Executor executor({});
  simt::Stream stream(executor);
  CHECK(run_decode_step(plan, step, call.outputs(), {memory.data(), plan.workspace_bytes},
                        &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  const std::int64_t slot = (kContextLengthMax - 1) % kBlockSize;
  for (std::int64_t dim = 0; dim < kDim; ++dim) {
    CHECK(call.k[slot * kDim + dim] == new_k[dim]);
    CHECK(call.v[slot * kDim + dim] == new_v[dim]);
  }
  const std::vector<float> stepped = call.results();
  simt::Stream again(executor);
  CHECK(run_attention(plan, call.inputs, call.outputs(), {memory.data(), plan.workspace_bytes},
                      &again) == Status::ok());
  CHECK(again.synchronise().passed());
  CHECK(call.results() == stepped);
}

// A pool of one block whose slots are not read.
TEST_CASE("blocks with more slots than an int counts are refused, and with as many are served") {
  constexpr std::int64_t kLargest = (std::int64_t{1} << 31) - 16;
  const std::string message =
      ": expected at most 2147483647, got " + std::to_string(std::int64_t{1} << 31);
  for (const std::int64_t block_size : {kLargest, kLargest + 16}) {
    LongCall call(1);
    const bool is_served = block_size == kLargest;
    call.context_length[0] = 0;
    for (KvTensorView* tensor : {&call.inputs.kv.k, &call.inputs.kv.v}) {
      tensor->block_size = block_size;
      tensor->head_stride = tensor->block_stride = block_size * kDim;
    }
    // Its end lies beyond this process's address space, but below 2^63.
    call.inputs.kv.v.data = reinterpret_cast<const void*>(std::uintptr_t{1} << 60);
    for (const AttentionKernel kernel :
         {AttentionKernel::kReferenceDecode, AttentionKernel::kGqaDecode,
          AttentionKernel::kTmaDecode, AttentionKernel::kPrefill}) {
      const Status status = plan_attention(call.inputs, options_of(kernel, 16, 16)).status();
      INFO(status);
      CHECK(status.is_ok() == is_served);
      if (!is_served) CHECK(status.message().ends_with("kv.k.block_size" + message));
    }
    const MutableKvTensorView pool = {.data = reinterpret_cast<void*>(std::uintptr_t{1} << 60),
                                      .type = kType,
                                      .num_blocks = 1,
                                      .block_size = block_size,
                                      .num_kv_heads = 1,
                                      .head_dim = kDim,
                                      .block_stride = block_size * kDim,
                                      .head_stride = block_size * kDim,
                                      .slot_stride = kDim};
    MutablePagedKvView kv = {pool, pool};
    kv.v.data = reinterpret_cast<void*>(std::uintptr_t{1} << 61);
    simt::Executor executor({});
    simt::Stream stream(executor);
    const RowsView none = {.type = kType, .num_heads = 1, .head_dim = kDim};
    CHECK(run_kv_write({.k = none, .v = none, .kv = kv}, kernels::RepeatedSlots::kNone, {}, &stream)
              .message() == (is_served ? "" : "kv.k.block_size" + message));
    // All elements of a block are counted there.
    CHECK(run_block_copy(kv, {}, {}, &stream).message() ==
          "from.k.block_size: expected at most 33554430, got " + std::to_string(block_size));
  }
}

}  // namespace
}  // namespace recto::verify
