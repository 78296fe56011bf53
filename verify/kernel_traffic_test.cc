// Decode moves what it must, hardly more, and its warps never wait for a bank.

#include "verify/kernel_traffic.h"

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

double ratio_of(TrafficKernel kernel, const TrafficShape& shape) {
  return static_cast<double>(counted_traffic(kernel, shape).sector_bytes) /
         work_of(kernel, shape).bytes;
}

TEST_CASE("the bytes of a step of decoding, by hand") {
  // 2 sequences x 100 tokens x 1 KV head x (64 + 64) x 2 bytes, 2 x 7 block ids, 2 lengths, and for
  // 2 x 4 heads q, out and lse.
  const TrafficShape shape = {
      .context_length = 100, .num_q_heads = 4, .num_kv_heads = 1, .head_dim = 64};
  const Work work = work_of(TrafficKernel::kGroupDecode, shape);
  CHECK(work.bytes == 51200 + 56 + 8 + 8 * (128 + 128 + 4));
  CHECK(work.flops == 2 * 4 * 100 * 64 * 4);
}

TEST_CASE("group-packed decode moves at most 1.05 times what it must, at block size 16") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const ElementType kv_type : {ElementType::kBf16, ElementType::kE4m3}) {
      const TrafficShape shape = {.context_length = 2048, .kv_type = kv_type, .layout = layout};
      INFO(layout << " " << kv_type);
      for (const TrafficKernel kernel :
           {TrafficKernel::kGroupDecode, TrafficKernel::kGroupDecodeSplit}) {
        INFO(traffic_kernel_name(kernel));
        CHECK(ratio_of(kernel, shape) >= 1.0);
        CHECK(ratio_of(kernel, shape) <= 1.05);
        CHECK(counted_traffic(kernel, shape).bank_conflicts == 0);
      }
    }
  }
  const TrafficShape head_major;
  CHECK(ratio_of(TrafficKernel::kBulkDecode, head_major) <= 1.05);
  CHECK(counted_traffic(TrafficKernel::kBulkDecode, head_major).bank_conflicts == 0);
}

TEST_CASE("blocks as large as contexts, or as small as a token, cost decode little") {
  for (const std::int64_t block_size : {1, 1024}) {
    const TrafficShape shape = {.block_size = block_size, .layout = KvLayout::kTokenMajor};
    CHECK(ratio_of(TrafficKernel::kGroupDecode, shape) <= 1.05);
  }
}

TEST_CASE("no warp of prefill waits for a bank") {
  for (const KvLayout layout : {KvLayout::kHeadMajor, KvLayout::kPacked}) {
    CHECK(counted_traffic(TrafficKernel::kPagedPrefill,
                          {.context_length = 128, .rows_per_seq = 16, .layout = layout})
              .bank_conflicts == 0);
  }
}

TEST_CASE("plain decode reads keys and values for each query head of a group") {
  const TrafficShape shape;
  CHECK(ratio_of(TrafficKernel::kPagedDecode, shape) > 3.9);
  CHECK(ratio_of(TrafficKernel::kPagedDecode, shape) < 4.2);
}

// But for slots and block ids, which each warp asks for.
TEST_CASE("what moves K and V moves little else") {
  for (const TrafficKernel kernel :
       {TrafficKernel::kKvWrite, TrafficKernel::kBlockCopy, TrafficKernel::kGather}) {
    INFO(traffic_kernel_name(kernel));
    CHECK(ratio_of(kernel, {}) >= 1.0);
    CHECK(ratio_of(kernel, {}) <= 1.08);
  }
}

}  // namespace
}  // namespace recto::verify
