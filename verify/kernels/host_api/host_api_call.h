#pragma once

// Valid calls of the host API, for tests that break them.

#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/decode_step.h"
#include "cuda/paged_attention.h"
#include "verify/kernels/host_api/caller_batch.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {

inline constexpr std::int64_t kBlockSize = 16;
inline constexpr std::int64_t kPoolSize = kBlocks * kBlockSize * kHeads * kDim;

inline MutablePagedKvView pool_view(DeviceCodes& k, DeviceCodes& v) {
  return pool_view(KvLayout::kHeadMajor, kBlockSize, k.data(), v.data());
}

// A valid call, which checks contents on the device. The views point into this object.
struct ApiCall {
  ApiCall() : outputs(AttentionPlan{.workspace_bytes = 1 << 16}) {
    step = {.q = rows(batch.q, kQHeads),
            .new_k = rows(batch.k, kHeads),
            .new_v = rows(batch.v, kHeads),
            .kv = pool_view(k, v),
            .block_table = batch.table(),
            .cached_length = batch.cached};
    inputs = {.q = step.q,
              .kv = as_const(step.kv),
              .block_table = step.block_table,
              .query_start = batch.query_start,
              .context_length = batch.context_length};
    options.max_context_length = 48;
    options.contents_check = ContentsCheck::kOnDevice;
    attention = outputs.views();
    workspace = {.data = outputs.workspace.data(), .bytes = 1 << 16};
    plan = plan_attention(inputs, options).value();
    step_plan = plan_decode_step(step, options).value();
  }
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  // Everything that a call may write.
  std::vector<std::uint16_t> written() {
    std::vector<std::uint16_t> codes;
    for (std::int64_t i = 0; i < kPoolSize; ++i) codes.insert(codes.end(), {k[i], v[i]});
    for (std::int64_t i = 0; i < kSeqs * kQHeads * kDim; ++i) codes.push_back(outputs.out[i]);
    for (const float lse_ln : outputs.lse_ln) codes.push_back(lse_ln != 0.0F);
    return codes;
  }

  CallerBatch batch{kBlockSize};
  DeviceCodes k{kPoolSize};
  DeviceCodes v{kPoolSize};
  CallerOutputs outputs;
  PagedAttentionInputs inputs;
  DecodeStep step;
  PlanOptions options;
  AttentionOutputs attention;
  Workspace workspace;
  AttentionPlan plan;
  AttentionPlan step_plan;
};

using Run = Status (*)(ApiCall& call, simt::Stream& stream);

inline Status run_call(ApiCall& call, simt::Stream& stream) {
  return run_attention(call.plan, call.inputs, call.attention, call.workspace, &stream);
}
inline Status run_step(ApiCall& call, simt::Stream& stream) {
  return run_decode_step(call.step_plan, call.step, call.attention, call.workspace, &stream);
}
inline Status plan_call(ApiCall& call, simt::Stream& /*stream*/) {
  return plan_attention(call.inputs, call.options).status();
}
inline Status plan_step(ApiCall& call, simt::Stream& /*stream*/) {
  return plan_decode_step(call.step, call.options).status();
}

struct Fault {
  Run run;
  void (*plant)(ApiCall& call);
  std::string message;
};

inline void expect_refused(const std::vector<Fault>& faults) {
  simt::Executor executor({});
  for (const Fault& fault : faults) {
    INFO(fault.message);
    ApiCall call;
    fault.plant(call);
    const std::vector<std::uint16_t> before = call.written();
    simt::Stream stream(executor);
    const Status status = fault.run(call, stream);
    CHECK(status.code() == StatusCode::kInvalidInput);
    const std::string seen = status.message();
    // Addresses differ from run to run.
    const bool ends_with_address = fault.message.ends_with(" at [");
    CHECK(seen.substr(0, ends_with_address ? fault.message.size() : seen.size()) == fault.message);
    CHECK(stream.synchronise().passed());
    CHECK(call.written() == before);
  }
}

}  // namespace recto::verify
