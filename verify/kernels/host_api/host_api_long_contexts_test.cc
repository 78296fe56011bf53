// Contexts longer than planned: computed completely, from one token below the limit to many above,
// within the planned workspace.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/error_bound.h"
#include "reference/rounding.h"
#include "verify/comparison.h"
#include "verify/kernels/host_api/host_api_call.h"
#include "verify/kernels/kernel_numerics.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kLongest = 2 * kBlockSize + 1;  // longest of the batch: 20, 1 and 33 tokens

// The last split may contain all keys, and is merged like the others.
reference::KernelNumerics numerics_of(const AttentionPlan& plan) {
  reference::KernelNumerics numerics = plan.kernel == AttentionKernel::kReferenceDecode
                                           ? decode_kernel_numerics(kType, kType, 0)
                                           : gqa_decode_numerics(kType, kType, 0);
  numerics.state_merges += plan.num_splits;
  return numerics;
}

struct Outcome {
  std::int64_t num_splits;
  reference::AttentionResult result;

  bool has_bits_of(const Outcome& other) const {
    return result.out == other.result.out && result.lse_ln == other.result.lse_ln;
  }
};

// The memory after the workspace is NaN, and must stay so.
Outcome outcome_of(AttentionKernel kernel, std::int64_t split_size, std::int64_t max_context,
                   kernels::SplitRule split_rule = kernels::SplitRule::kFixedSize) {
  ApiCall call;
  RandomStream random(4);
  call.k.draw(random);
  call.v.draw(random);
  call.options = {.max_context_length = max_context};
  call.options.kernel = kernel;
  call.options.split_size = split_size;
  call.plan = plan_attention(call.inputs, call.options).value();
  call.plan.split_rule = split_rule;
  call.workspace.bytes = call.plan.workspace_bytes;
  for (Memory16& eight : call.outputs.workspace) {
    for (std::uint16_t& code : eight.at) code = 0xffff;
  }
  simt::Executor executor({});
  simt::Stream stream(executor);
  REQUIRE(run_call(call, stream) == Status::ok());
  REQUIRE(stream.synchronise().passed());
  for (auto i = static_cast<std::size_t>(call.workspace.bytes / 16);
       i < call.outputs.workspace.size(); ++i) {
    for (const std::uint16_t code : call.outputs.workspace[i].at) {
      if (code != 0xffff) FAIL("written behind the workspace, at " << 16 * i);
    }
  }

  Outcome outcome = {call.plan.num_splits, {kSeqs, kQHeads, kDim}};
  reference::decode_row(call.outputs.out.data(), kType, outcome.result.out);
  outcome.result.lse_ln.assign(call.outputs.lse_ln.begin(), call.outputs.lse_ln.end());
  const reference::BoundedResult oracle =
      reference::bounded_attention(call.inputs, numerics_of(call.plan));
  const Comparison comparison =
      compare(call.inputs, outcome.result, oracle.exact, oracle.probabilistic);
  INFO(comparison.text());
  CHECK(comparison.passed());
  return outcome;
}

TEST_CASE("a context longer than planned is computed whole, by the last split") {
  for (const AttentionKernel kernel : {AttentionKernel::kReferenceDecode,
                                       AttentionKernel::kGqaDecode, AttentionKernel::kTmaDecode}) {
    for (const std::int64_t split_size : {4, 8, 16, 40}) {
      const Outcome planned = outcome_of(kernel, split_size, kLongest);
      for (const std::int64_t max_context : {1, 8, 9, 16, 17, 31, 32, 34}) {
        INFO(attention_kernel_name(kernel)
             << ", splits of " << split_size << ", planned for " << max_context);
        const Outcome seen = outcome_of(kernel, split_size, max_context);
        // If contexts are cut at the same places, the bits are equal.
        if (seen.num_splits >= planned.num_splits) CHECK(seen.has_bits_of(planned));
      }
    }
  }
}

// Planned for 8 keys, two splits of 33 keys begin at 0 and 4, and two shares at 0 and 20, which
// rounds otherwise on tensor cores.
TEST_CASE("only splits of equal shares grow with a context longer than planned") {
  for (const AttentionKernel kernel : {AttentionKernel::kGqaDecode, AttentionKernel::kTmaDecode}) {
    INFO(attention_kernel_name(kernel));
    const Outcome splits = outcome_of(kernel, 4, 8);
    const Outcome shares = outcome_of(kernel, 4, 8, kernels::SplitRule::kEqualShares);
    CHECK(splits.num_splits == shares.num_splits);
    CHECK_FALSE(splits.has_bits_of(shares));
  }
}

TEST_CASE("a single split is the whole context, however long") {
  for (const AttentionKernel kernel : {AttentionKernel::kReferenceDecode,
                                       AttentionKernel::kGqaDecode, AttentionKernel::kTmaDecode}) {
    INFO(attention_kernel_name(kernel));
    const Outcome whole = outcome_of(kernel, 40, kLongest);
    CHECK(whole.num_splits == 1);
    for (const std::int64_t split_size : {1, 8, 16, 32}) {
      const Outcome cut_once = outcome_of(kernel, split_size, 1);
      CHECK(cut_once.num_splits == 1);
      CHECK(cut_once.has_bits_of(whole));
    }
  }
}

TEST_CASE("the device check refuses contexts longer than planned, and no others") {
  for (const std::int64_t max_context : {kLongest - 1, kLongest}) {
    ApiCall call;
    call.options.max_context_length = max_context;
    call.plan = plan_attention(call.inputs, call.options).value();
    simt::Executor executor({});
    simt::Stream stream(executor);
    CHECK(run_call(call, stream).message() ==
          (max_context == kLongest
               ? ""
               : "context_length[2]: expected at most plan.max_context_length = 32, got 33"));
    CHECK(stream.synchronise().passed());
  }
}

}  // namespace
}  // namespace recto::verify
