// Bad arguments about memory, and bad contents found there: each is refused with its own message,
// and nothing is written.

#include <cstdint>

#include "verify/kernels/host_api/host_api_call.h"

namespace recto::verify {
namespace {

TEST_CASE("an unsuitable workspace is refused") {
  expect_refused({
      {run_call, [](auto& c) { c.workspace.bytes = c.plan.workspace_bytes - 1; },
       "workspace.bytes: expected at least 48, got 47"},
      {run_call, [](auto& c) { c.workspace.data = nullptr; },
       "workspace.data: expected memory, got null"},
      {run_call,
       [](auto& c) {
         c.workspace.data = &c.outputs.workspace[0].at[4];
         c.workspace.bytes -= 16;
       },
       "workspace.data: expected an address at a multiple of 16 bytes, got 8 bytes behind one"},
      {run_step, [](auto& c) { c.workspace.bytes = c.step_plan.workspace_bytes - 1; },
       "workspace.bytes: expected at least 64, got 63"},
  });
}

TEST_CASE("the device check refuses wrong block ids, lengths and row ranges") {
  expect_refused({
      {run_call, [](auto& c) { c.batch.query_start[0] = 1; }, "query_start[0]: expected 0, got 1"},
      {run_call, [](auto& c) { c.batch.query_start[2] = 0; },
       "query_start[2]: expected at least 1 (the entry before it), got 0"},
      {run_call, [](auto& c) { c.batch.query_start[1] = 2; },
       "query_start[1]: expected at most plan.max_query_length = 1 rows of the sequence, got 2"},
      {run_call, [](auto& c) { c.batch.context_length[1] = -1; },
       "context_length[1]: expected at least 0, got -1"},
      {run_call, [](auto& c) { c.batch.context_length[2] = 49; },
       "context_length[2]: expected at most plan.max_context_length = 48, got 49"},
      {run_call,
       [](auto& c) {
         c.plan.max_context_length = 100;
         c.batch.context_length[2] = 49;
       },
       "context_length[2]: expected at most block_table.max_blocks * kv.k.block_size = 48, got 49"},
      {run_call, [](auto& c) { c.batch.block_table[1] = kBlocks; },
       "block_table[0][1]: expected a block id from 0 to below kv.k.num_blocks = 12, got 12"},
      {run_call, [](auto& c) { c.batch.block_table[3] = -1; },
       "block_table[1][0]: expected a block id from 0 to below kv.k.num_blocks = 12, got -1"},
      {run_call,
       [](auto& c) {
         c.batch.block_table[8] = 99;
         c.batch.block_table[7] = 1 << 30;
       },
       "block_table[2][1]: expected a block id from 0 to below kv.k.num_blocks = 12, got "
       "1073741824"},
      // The last block of a context that ends at the block's end.
      {run_call,
       [](auto& c) {
         c.batch.context_length[2] = 48;
         c.batch.block_table[8] = -1;
       },
       "block_table[2][2]: expected a block id from 0 to below kv.k.num_blocks = 12, got -1"},
      {run_call,
       [](auto& c) {
         c.batch.context_length[0] = 16;
         c.batch.block_table[0] = kBlocks;
       },
       "block_table[0][0]: expected a block id from 0 to below kv.k.num_blocks = 12, got 12"},
      {run_step, [](auto& c) { c.batch.cached[0] = 48; },
       "cached_length[0] + 1: expected at most plan.max_context_length = 48, got 49"},
      {run_step, [](auto& c) { c.batch.block_table[8] = -1; },
       "block_table[2][2]: expected a block id from 0 to below kv.k.num_blocks = 12, got -1"},
      {run_step, [](auto& c) { c.batch.block_table[0] = 1000; },
       "block_table[0][0]: expected a block id from 0 to below kv.k.num_blocks = 12, got 1000"},
  });
}

TEST_CASE("table entries beyond the contexts may hold anything") {
  simt::Executor executor({});
  for (const Run run : {run_call, run_step}) {
    ApiCall call;
    call.batch.block_table[2] = 1 << 30;
    call.batch.block_table[4] = call.batch.block_table[5] = -7;
    simt::Stream stream(executor);
    CHECK(run(call, stream) == Status::ok());
    CHECK(stream.synchronise().passed());
  }
}

}  // namespace
}  // namespace recto::verify
