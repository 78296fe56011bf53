// Arguments that callers of flash_attn_with_kvcache may omit: new tokens, the scale, the window.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/caller_shapes.h"
#include "cuda/paged_attention.h"
#include "verify/kernels/host_api/caller_batch.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kBlockSize = 256;
constexpr std::int64_t kPoolSize = kBlocks * kBlockSize * kHeads * kDim;

// A valid call. The views point into this object.
struct FlashCall {
  FlashCall() {
    k.draw(batch.random);
    v.draw(batch.random);
    const MutablePagedKvView pool =
        pool_view(KvLayout::kTokenMajor, kBlockSize, k.data(), v.data());
    call = {.q = rows(batch.q, kQHeads),
            .k_cache = pool.k,
            .v_cache = pool.v,
            .k = rows(batch.k, kHeads),
            .v = rows(batch.v, kHeads),
            .cache_seqlens = batch.cached,
            .block_table = batch.table()};
  }
  FlashCall(const FlashCall&) = delete;
  FlashCall& operator=(const FlashCall&) = delete;

  RowsView angles() { return dense_rows<const void*>(table.data(), kType, 600, 1, kDim / 2); }
  void leave_out_tokens() { call.k = call.v = {}; }

  CallerBatch batch{kBlockSize};
  DeviceCodes k{kPoolSize};
  DeviceCodes v{kPoolSize};
  DeviceCodes table{600 * kDim / 2};
  FlashAttnWithKvcache call;
};

std::vector<std::uint16_t> codes_of(CallerOutputs& outputs) {
  std::vector<std::uint16_t> codes;
  for (std::int64_t i = 0; i < kSeqs * kQHeads * kDim; ++i) codes.push_back(outputs.out[i]);
  return codes;
}

std::vector<std::uint16_t> result_of_step(const FlashAttnWithKvcache& call) {
  const DecodeStep step = step_of(call).value();
  const AttentionPlan plan =
      plan_decode_step(step, {.max_context_length = kMaxBlocks * kBlockSize}).value();
  CallerOutputs outputs(plan);
  simt::Executor executor({});
  simt::Stream stream(executor);
  CHECK(run_decode_step(plan, step, outputs.views(), outputs.memory(plan), &stream) ==
        Status::ok());
  CHECK(stream.synchronise().passed());
  return codes_of(outputs);
}

std::vector<std::uint16_t> result_of_attention(const FlashAttnWithKvcache& call) {
  const PagedAttentionInputs inputs = inputs_of(call).value();
  const AttentionPlan plan =
      plan_attention(inputs, {.max_context_length = kMaxBlocks * kBlockSize}).value();
  CallerOutputs outputs(plan);
  simt::Executor executor({});
  simt::Stream stream(executor);
  CHECK(run_attention(plan, inputs, outputs.views(), outputs.memory(plan), &stream) ==
        Status::ok());
  CHECK(stream.synchronise().passed());
  return codes_of(outputs);
}

TEST_CASE("a call without new tokens attends to what a step has appended, as the step did") {
  FlashCall flash;
  const std::vector<std::uint16_t> stepped = result_of_step(flash.call);
  flash.leave_out_tokens();
  const std::vector<std::uint16_t> before = result_of_attention(flash.call);
  flash.call.cache_seqlens = flash.batch.context_length;
  CHECK(result_of_attention(flash.call) == stepped);
  CHECK(before != stepped);  // with one token less
}

TEST_CASE("the default scale is 1 / sqrt(headdim), and 0 is an ordinary scale") {
  FlashCall flash;
  const std::vector<std::uint16_t> untold = result_of_step(flash.call);
  flash.call.softmax_scale = 0.125F;
  CHECK(result_of_step(flash.call) == untold);
  flash.call.softmax_scale = 0.0F;
  CHECK(step_of(flash.call).value().options.scale == 0.0F);
  CHECK(result_of_step(flash.call) != untold);
}

TEST_CASE("a window counts keys, and the largest window is no limit") {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  FlashCall flash;
  CHECK(step_of(flash.call).value().options.window == std::nullopt);
  const std::vector<std::uint16_t> untold = result_of_step(flash.call);
  for (const std::int64_t left : {kLargest, kLargest - 1, std::int64_t{2 * kBlockSize}}) {
    flash.call.window_left = left;
    CHECK(result_of_step(flash.call) == untold);
  }
  flash.call.window_left = kLargest - 1;
  CHECK(step_of(flash.call).value().options.window == kLargest);
  flash.call.window_left = 0;
  CHECK(step_of(flash.call).value().options.window == 1);
  CHECK(result_of_step(flash.call) != untold);
}

TEST_CASE("invalid calls are refused, and the message names the function to call instead") {
  struct Case {
    void (*plant)(FlashCall&);
    std::string of_step;
    std::string of_attention;
  };
  const std::string negative = "window_left: expected at least 0, got -1";
  const std::string null =
      ".data: expected null; a call with new tokens uses step_of() and run_decode_step(), got an "
      "address";
  const Case cases[] = {
      {[](FlashCall&) {}, "", "k" + null},
      {[](FlashCall& c) { c.call.k = {}; }, "", "v" + null},
      {[](FlashCall& c) { c.leave_out_tokens(); },
       "k.data, v.data: expected new tokens; a call without new tokens uses inputs_of() and "
       "run_attention(), got null",
       ""},
      {[](FlashCall& c) {
         c.leave_out_tokens();
         c.call.rotary_sin = c.angles();
         c.call.k = rows(c.batch.k, kHeads);
         c.call.k.data = nullptr;
         c.call.v = rows(c.batch.v, kHeads);
       },
       "rotary_cos.head_dim: expected at least 1, got 0", "v" + null},
      {[](FlashCall& c) {
         c.leave_out_tokens();
         c.call.rotary_cos = c.angles();
       },
       "k.data, v.data: expected new tokens; a call without new tokens uses inputs_of() and "
       "run_attention(), got null",
       "rotary_cos" + null},
      {[](FlashCall& c) {
         c.call.rotary_cos = c.call.rotary_sin = c.angles();
         c.call.rotary_cos.head_dim = std::numeric_limits<std::int64_t>::max();
       },
       "rotary_cos.head_dim: expected at most 32, got 9223372036854775807", "k" + null},
      {[](FlashCall& c) { c.call.window_left = -1; }, negative, "k" + null},
      {[](FlashCall& c) {
         c.leave_out_tokens();
         c.call.window_left = -1;
         c.call.q.num_rows = 0;
       },
       negative, negative},
  };
  for (const Case& each : cases) {
    INFO(each.of_step << " / " << each.of_attention);
    FlashCall flash;
    each.plant(flash);
    CHECK(step_of(flash.call).status().message() == each.of_step);
    CHECK(inputs_of(flash.call).status().message() == each.of_attention);
  }
}

}  // namespace
}  // namespace recto::verify
