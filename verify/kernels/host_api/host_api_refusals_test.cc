// Errors that the host API detects without reading memory: each is refused with its own message,
// and nothing is written.

#include <cstdint>
#include <utility>
#include <vector>

#include "verify/kernels/host_api/host_api_call.h"

namespace recto::verify {
namespace {

TEST_CASE("a valid call is served and writes its results") {
  simt::Executor executor({});
  for (const Run run : {run_call, run_step}) {
    ApiCall call;
    const std::vector<std::uint16_t> before = call.written();
    simt::Stream stream(executor);
    CHECK(run(call, stream) == Status::ok());
    CHECK(stream.synchronise().passed());
    CHECK(call.written() != before);
  }
}

TEST_CASE("the gate refuses invalid calls before a kernel is asked") {
  expect_refused({
      {run_call, [](auto& c) { c.inputs.q.data = nullptr; },
       "q.data: expected an address, got null"},
      {run_call, [](auto& c) { c.inputs.q.type = ElementType::kE4m3; },
       "q.type: expected fp32, fp16 or bf16, got e4m3"},
      {run_call, [](auto& c) { c.inputs.q.type = ElementType::kBf16; },
       "kv.k.type: expected one of bf16, e4m3, e5m2 as q.type is bf16, got fp16"},
      {run_call, [](auto& c) { c.inputs.q.head_dim = 32; },
       "q.head_dim: expected 64 as in kv.k.head_dim, got 32"},
      {run_call, [](auto& c) { c.inputs.q.num_heads = 3; },
       "q.num_heads: expected a multiple of kv.k.num_kv_heads = 2, got 3"},
      {run_call, [](auto& c) { c.inputs.q.row_stride = -1; },
       "q.row_stride: expected at least 0, got -1"},
      {run_call, [](auto& c) { c.inputs.kv.k.data = nullptr; },
       "kv.k.data: expected an address, got null"},
      {run_call, [](auto& c) { c.inputs.kv.v.block_size = 8; },
       "kv.v.block_size: expected 16 as in kv.k.block_size, got 8"},
      {run_call, [](auto& c) { c.inputs.kv.k.scale.kind = ScaleKind::kPerTensor; },
       "kv.k.scale.kind: expected none (only fp8 is scaled), got a scale of fp16"},
      {run_call, [](auto& c) { c.inputs.block_table.data = nullptr; },
       "block_table.data: expected an address, got null"},
      {run_call, [](auto& c) { c.inputs.block_table.row_stride = 1; },
       "block_table.row_stride: expected at least block_table.max_blocks = 3, got 1"},
      {run_call, [](auto& c) { c.inputs.context_length = c.inputs.context_length.first(2); },
       "context_length.size: expected 3 as in block_table.num_seqs, got 2"},
      {run_call, [](auto& c) { c.inputs.query_start = c.inputs.query_start.first(2); },
       "query_start.size: expected 4 as in block_table.num_seqs + 1, got 2"},
      {run_call, [](auto& c) { c.inputs.options.softcap = -1; },
       "options.softcap: expected at least 0, got -1"},
      {run_call, [](auto& c) { c.inputs.options.window = 0; },
       "options.window: expected at least 1, got 0"},
      {run_call, [](auto& c) { c.attention.out.data = nullptr; },
       "out.data: expected an address, got null"},
      {run_call, [](auto& c) { c.attention.out.type = ElementType::kFp32; },
       "out.type: expected fp16 as in q.type, got fp32"},
      {run_call, [](auto& c) { c.attention.out.num_rows = 2; },
       "out.num_rows: expected 3 as in q.num_rows, got 2"},
      {run_call, [](auto& c) { c.attention.out.data = c.k.data(); },
       "out.data: expected memory apart from kv.k at ["},
      {run_call, [](auto& c) { c.attention.lse_ln = c.attention.lse_ln.first(3); },
       "lse_ln.size: expected 0 or q.num_rows x q.num_heads = 3 x 4, got 3"},
      {run_step, [](auto& c) { c.step.new_k.num_heads = 1; },
       "new_k.num_heads: expected 2 as in kv.k.num_kv_heads, got 1"},
      {run_step, [](auto& c) { c.step.new_v.type = ElementType::kFp32; },
       "new_v.type: expected fp16 as in q.type, got fp32"},
      {run_step, [](auto& c) { c.step.cached_length = {}; },
       "cached_length.size: expected 3 as in block_table.num_seqs, got 0"},
  });
}

TEST_CASE("calls that no kernel serves are refused by name, with what is served") {
  expect_refused({
      {plan_call,
       [](auto& c) {
         c.options.kernel = AttentionKernel::kGqaDecode;
         c.inputs.kv.k.head_dim = c.inputs.kv.v.head_dim = c.inputs.q.head_dim = 48;
       },
       "GQA decode: q.type, kv.k.type, kv.k.head_dim: expected fp32/fp32 with 64, 80, 96, 128, "
       "192, 256; fp16/fp16 with 64, 80, 96, 128, 192, 256; fp16/e4m3 with 64, 80, 96, 128, 192, "
       "256; fp16/e5m2 with 64, 80, 96, 128, 192, 256; bf16/bf16 with 64, 80, 96, 128, 192, 256; "
       "bf16/e4m3 with 64, 80, 96, 128, 192, 256; bf16/e5m2 with 64, 80, 96, 128, 192, 256, got "
       "fp16/fp16 with 48"},
      {plan_call,
       [](auto& c) {
         c.options.kernel = AttentionKernel::kTmaDecode;
         c.inputs.kv.k.head_dim = c.inputs.kv.v.head_dim = c.inputs.q.head_dim = 32;
       },
       "TMA decode: q.type, kv.k.type, kv.k.head_dim: expected fp16/fp16 with 64, 128; bf16/bf16 "
       "with 64, 128, got fp16/fp16 with 32"},
      {plan_call,
       [](auto& c) {
         c.options.kernel = AttentionKernel::kTmaDecode;
         std::swap(c.inputs.kv.k.slot_stride, c.inputs.kv.k.head_stride);
         c.inputs.kv.k.slot_stride = 2 * kDim;
         c.inputs.kv.k.head_stride = kDim;
       },
       "TMA decode: kv.k.slot_stride: expected 64 as in kv.k.head_dim, got 128"},
      {plan_call,
       [](auto& c) {
         c.options.kernel = AttentionKernel::kGqaDecode;
         c.inputs.kv.k.data = c.k.data() + 1;
         c.inputs.kv.k.num_blocks = c.inputs.kv.v.num_blocks = kBlocks - 1;
       },
       "GQA decode: kv.k.data: expected an address at a multiple of 16 bytes, got 2 bytes behind "
       "one"},
      {plan_call,
       [](auto& c) {
         c.options.max_query_length = 2;
         c.inputs.kv.v.head_dim = 32;
       },
       "prefill: kv.v.head_dim: expected 64 as in kv.k.head_dim, got 32"},
      {plan_call,
       [](auto& c) {
         c.options.max_query_length = 2;
         c.options.kernel = AttentionKernel::kGqaDecode;
       },
       "plan.max_query_length: expected 1 for a decode kernel, got 2"},
      {plan_call,
       [](auto& c) {
         c.inputs.query_start = {};
         c.options.max_query_length = 2;
       },
       "prefill: query_start: expected the first row of each sequence, got none"},
  });
}

TEST_CASE("plan options out of range are refused") {
  expect_refused({
      {plan_call, [](auto& c) { c.options.max_context_length = -1; },
       "options.max_context_length: expected at least 1, the tokens of the longest context of any "
       "call, got -1"},
      {plan_call, [](auto& c) { c.options.max_context_length = 0; },
       "options.max_context_length: expected at least 1, the tokens of the longest context of any "
       "call, got 0"},
      {run_call, [](auto& c) { c.plan.max_context_length = 0; },
       "plan.max_context_length: expected at least 1, the tokens of the longest context of any "
       "call, got 0"},
      {plan_call, [](auto& c) { c.options.max_context_length = 2147483521; },
       "options.max_context_length: expected at most 2147483520, got 2147483521"},
      {plan_call, [](auto& c) { c.options.max_query_length = 0; },
       "options.max_query_length: expected at least 1, got 0"},
      {plan_call, [](auto& c) { c.options.max_query_length = std::int64_t{1} << 31; },
       "options.max_query_length: expected at most 2147483647, got 2147483648"},
      {plan_call, [](auto& c) { c.options.max_query_length = (1 << 30) - 31; },
       "plan.max_query_length: expected at most 1073741792, got 1073741793"},
      {plan_call, [](auto& c) { c.options.split_size = 0; },
       "options.split_size: expected at least 1, got 0"},
      {plan_call, [](auto& c) { c.options.split_size = std::int64_t{1} << 31; },
       "options.split_size: expected at most 2147483647, got 2147483648"},
      {plan_call, [](auto& c) { c.options.num_multiprocessors = 0; },
       "options.num_multiprocessors: expected at least 1, got 0"},
      {plan_call, [](auto& c) { c.options.num_multiprocessors = std::int64_t{1} << 31; },
       "options.num_multiprocessors: expected at most 2147483647, got 2147483648"},
      {plan_call,
       [](auto& c) {
         c.options.split_size = 1;
         c.options.max_context_length = 70000;
       },
       "plan.num_splits: expected at most 65535, got 70000"},
      {plan_step, [](auto& c) { c.step.rotary.dim = 3; },
       "rotary.dim: expected an even number, at most kv.k.head_dim = 64, got 3"},
      {plan_step, [](auto& c) { c.step.rotary.dim = 2 * kDim; },
       "rotary.dim: expected an even number, at most kv.k.head_dim = 64, got 128"},
      {plan_step, [](auto& c) { c.step.rotary.dim = 2; },
       "rotary.cosines.data: expected a table with rotary.dim above 0, got null"},
  });
}

}  // namespace
}  // namespace recto::verify
