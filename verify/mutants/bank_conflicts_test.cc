// What finds mutants that change no result, but where lanes meet in shared memory.

#include <cstdint>

#include "bazel/testing/catch.h"
#include "verify/kernels/kernel_traffic.h"

namespace recto::verify {
namespace {

// kernel_traffic_test has every instantiation, and counts bytes as well, for which that program
// lays out its heap otherwise than a program may that looks at accesses.
TEST_CASE("finder: no warp waits for a bank") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const ElementType kv_type : {ElementType::kBf16, ElementType::kE4m3}) {
      for (const std::int64_t head_dim : {64, 128}) {
        TrafficShape shape = {.context_length = 128, .head_dim = head_dim};
        shape.kv_type = kv_type;
        shape.layout = layout;
        CHECK(counted_traffic(TrafficKernel::kGroupDecode, shape).bank_conflicts == 0);
        shape.rows_per_seq = 16;
        CHECK(counted_traffic(TrafficKernel::kPagedPrefill, shape).bank_conflicts == 0);
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
