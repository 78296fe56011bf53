// Memory that the host API must not read: slots that no context addresses, table entries behind a
// sequence's blocks, and previous contents of workspace and outputs. Whatever they hold, results
// have the same bits, and nothing behind the workspace is written.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "reference/rounding.h"
#include "verify/kernels/host_api/host_api_call.h"

namespace recto::verify {
namespace {

// The contents of such memory, and of such table entries.
struct Poisoned {
  const char* name;
  std::uint32_t pattern;
  std::int32_t block;  // behind a sequence's blocks
};

constexpr Poisoned kPoisoned[] = {{"zeros, -1", 0, -1},
                                  {"NaN, ids of other sequences", 0xffffffffU, 7},
                                  {"infinity of fp32, ids beyond the pool", 0x7f800000U, kBlocks},
                                  {"infinity of fp16", 0x7c007c00U, INT32_MAX},
                                  {"-infinity of fp32", 0xff800000U, INT32_MIN},
                                  {"large numbers", 0x7149f2caU, 0}};

struct Contexts {
  const char* name;
  std::vector<std::int32_t> cached;  // [kSeqs]; -1: padding
};

const std::vector<Contexts>& contexts() {
  static const std::vector<Contexts> kAll = {{"all have tokens", {19, 0, 32}},
                                             {"splits end with contexts", {15, 31, 47}},
                                             {"padding beside tokens", {-1, 15, 16}},
                                             {"padding only", {-1, -1, -1}}};
  return kAll;
}

// The rows of CallerBatch's block table, with the longest context of each.
constexpr std::int32_t kBlocksOf[kSeqs][kMaxBlocks] = {{7, 2, 5}, {11, 3, 10}, {4, 9, 0}};

void set_tables(ApiCall& call, const Contexts& lengths, const Poisoned& poisoned) {
  for (std::int64_t s = 0; s < kSeqs; ++s) {
    const auto seq = static_cast<std::size_t>(s);
    call.batch.cached[seq] = lengths.cached[seq];
    call.batch.context_length[seq] = lengths.cached[seq] + 1;
    for (std::int64_t i = 0; i < kMaxBlocks; ++i) {
      const bool is_held = i * kBlockSize < call.batch.context_length[seq];
      call.batch.block_table[static_cast<std::size_t>(s * kMaxBlocks + i)] =
          is_held ? kBlocksOf[s][i] : poisoned.block;
    }
  }
}

// The numbers of a slot are the same in every call.
void set_caches(ApiCall& call, const Poisoned& poisoned) {
  for (std::int64_t i = 0; i < kPoolSize; ++i) {
    const auto code = static_cast<std::uint16_t>(poisoned.pattern >> (i % 2 * 16));
    call.k[i] = call.v[i] = code;
  }
  for (std::int64_t s = 0; s < kSeqs; ++s) {
    const std::int64_t length = call.batch.context_length[static_cast<std::size_t>(s)];
    for (std::int64_t i = 0; i < length * kHeads * kDim; ++i) {
      const std::int64_t token = i / (kHeads * kDim);
      const std::int64_t head = i / kDim % kHeads;
      const std::int64_t slot =
          kBlocksOf[s][token / kBlockSize] * kHeads * kBlockSize + head * kBlockSize;
      const std::int64_t at = (slot + token % kBlockSize) * kDim + i % kDim;
      RandomStream stream = RandomStream(9).split(static_cast<std::uint64_t>(at));
      const auto draw = [&stream] {
        return static_cast<std::uint16_t>(reference::encode(2 * stream.next_unit() - 1, kType));
      };
      call.k[at] = draw();
      call.v[at] = draw();
    }
  }
}

void fill(void* memory, std::size_t bytes, std::uint32_t pattern) {
  for (std::size_t at = 0; at < bytes; at += sizeof pattern) {
    std::memcpy(static_cast<std::byte*>(memory) + at, &pattern, sizeof pattern);
  }
}

struct Outcome {
  std::vector<std::uint16_t> out;
  std::vector<float> lse_ln;

  friend bool operator==(const Outcome& a, const Outcome& b) {
    return a.out == b.out &&
           std::memcmp(a.lse_ln.data(), b.lse_ln.data(), a.lse_ln.size() * sizeof(float)) == 0;
  }
};

struct Way {
  Run run;
  AttentionKernel kernel;
  ContentsCheck check;
};

Outcome outcome_of(const Way& way, const Contexts& lengths, const Poisoned& poisoned) {
  ApiCall call;
  call.options.kernel = way.kernel;
  if (way.kernel != AttentionKernel::kPrefill) call.options.split_size = kBlockSize;
  call.options.contents_check = way.check;
  set_tables(call, lengths, poisoned);
  set_caches(call, poisoned);
  if (way.run == run_call) {
    call.plan = plan_attention(call.inputs, call.options).value();
    call.workspace.bytes = call.plan.workspace_bytes;
  } else {
    call.step_plan = plan_decode_step(call.step, call.options).value();
    call.workspace.bytes = call.step_plan.workspace_bytes;
  }
  const std::size_t all_bytes = call.outputs.workspace.size() * sizeof(Memory16);
  fill(call.outputs.workspace.data(), all_bytes, poisoned.pattern);
  fill(call.outputs.out.data(), kSeqs * kQHeads * kDim * 2, poisoned.pattern);
  fill(call.outputs.lse_ln.data(), call.outputs.lse_ln.size() * sizeof(float), poisoned.pattern);

  simt::Executor executor({});
  simt::Stream stream(executor);
  CHECK(way.run(call, stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  const auto* behind = reinterpret_cast<const std::uint32_t*>(call.outputs.workspace.data());
  for (std::size_t i = static_cast<std::size_t>(call.workspace.bytes) / 4; i < all_bytes / 4; ++i) {
    if (behind[i] != poisoned.pattern) FAIL("written behind the workspace, at " << 4 * i);
  }
  Outcome outcome = {{}, call.outputs.lse_ln};
  for (std::int64_t i = 0; i < kSeqs * kQHeads * kDim; ++i) {
    outcome.out.push_back(call.outputs.out[i]);
  }
  return outcome;
}

// For sequences without tokens out is 0 and lse -inf; for others both are finite.
void expect_sense(const Outcome& outcome, const Contexts& lengths) {
  for (std::int64_t i = 0; i < kSeqs * kQHeads; ++i) {
    const bool is_padding = lengths.cached[static_cast<std::size_t>(i / kQHeads)] < 0;
    const float lse_ln = outcome.lse_ln[static_cast<std::size_t>(i)];
    CHECK((is_padding ? lse_ln == -INFINITY : std::isfinite(lse_ln)));
    for (std::int64_t dim = 0; dim < kDim; ++dim) {
      const std::uint16_t code = outcome.out[static_cast<std::size_t>(i * kDim + dim)];
      const double value = reference::decode(code, kType);
      if (is_padding ? code != 0 : !(std::abs(value) <= 1)) {
        FAIL("row " << i / kQHeads << ", dim " << dim << ": " << value);
      }
    }
  }
}

TEST_CASE("no output bit depends on memory that the call may not read") {
  using enum AttentionKernel;
  std::vector<Way> ways;
  for (const ContentsCheck check : {ContentsCheck::kNone, ContentsCheck::kOnDevice}) {
    for (const AttentionKernel kernel : {kReferenceDecode, kGqaDecode, kTmaDecode}) {
      ways.push_back({run_call, kernel, check});
      ways.push_back({run_step, kernel, check});
    }
    ways.push_back({run_call, kPrefill, check});
  }
  for (const Way& way : ways) {
    for (const Contexts& lengths : contexts()) {
      std::optional<Outcome> first;
      for (const Poisoned& poisoned : kPoisoned) {
        INFO(attention_kernel_name(way.kernel) << (way.run == run_step ? ", a step, " : ", ")
                                               << lengths.name << ", " << poisoned.name);
        const Outcome outcome = outcome_of(way, lengths, poisoned);
        expect_sense(outcome, lengths);
        if (first) CHECK((outcome == *first));
        first = outcome;
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
