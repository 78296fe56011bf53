#include "verify/simt/dialect/simt_atomics.h"

#include <cmath>
#include <limits>

#include "bazel/testing/catch.h"
#include "verify/simt/dialect/simt_half_arithmetic.h"

namespace recto {
namespace {

// The value in memory after a change that returned the old value.
template <typename T, typename Change>
T after(T before, const Change& change) {
  T value = before;
  CHECK(change(&value) == before);
  return value;
}

TEST_CASE("each operation gives the old value and leaves the new one") {
  for (const int before : {0, 5, -7}) {
    CHECK(after(before, [](int* p) { return atomicAdd(p, 3); }) == before + 3);
    CHECK(after(before, [](int* p) { return atomicSub(p, 3); }) == before - 3);
    CHECK(after(before, [](int* p) { return atomicExch(p, 3); }) == 3);
    CHECK(after(before, [](int* p) { return atomicMin(p, -1); }) == (before < -1 ? before : -1));
    CHECK(after(before, [](int* p) { return atomicMax(p, 1); }) == (before > 1 ? before : 1));
    CHECK(after(before, [](int* p) { return atomicAnd(p, 6); }) == (before & 6));
    CHECK(after(before, [](int* p) { return atomicOr(p, 6); }) == (before | 6));
    CHECK(after(before, [](int* p) { return atomicXor(p, 6); }) == (before ^ 6));
    CHECK(after(before, [](int* p) { return atomicCAS(p, 5, 9); }) == (before == 5 ? 9 : before));
  }
}

TEST_CASE("atomicInc and atomicDec wrap around at their limit") {
  CHECK(after(6U, [](unsigned* p) { return atomicInc(p, 7); }) == 7);
  CHECK(after(7U, [](unsigned* p) { return atomicInc(p, 7); }) == 0);
  CHECK(after(9U, [](unsigned* p) { return atomicInc(p, 7); }) == 0);
  CHECK(after(7U, [](unsigned* p) { return atomicDec(p, 7); }) == 6);
  CHECK(after(0U, [](unsigned* p) { return atomicDec(p, 7); }) == 7);
  CHECK(after(9U, [](unsigned* p) { return atomicDec(p, 7); }) == 7);
}

TEST_CASE("atomic operands convert to the type that their address points to") {
  CHECK(after(4U, [](unsigned* p) { return atomicAdd(p, -1); }) == 3);
  CHECK(after(4ULL, [](unsigned long long* p) { return atomicMax(p, 9); }) == 9);
  CHECK(after(1.5F, [](float* p) { return atomicAdd(p, 1); }) == 2.5F);
  CHECK(after(0.0F, [](float* p) { return atomicAdd(p, 0.25); }) == 0.25F);
  CHECK(after(1.5, [](double* p) { return atomicAdd(p, 1.0F); }) == 2.5);
  CHECK(after<unsigned short>(3, [](unsigned short* p) { return atomicCAS(p, 3, 4); }) == 4);
  __half half = 1.5F;
  CHECK(float{atomicAdd(&half, __half(2.0F))} == 1.5F);
  CHECK(float{half} == 3.5F);
  __nv_bfloat162 pair = {__nv_bfloat16(1.0F), __nv_bfloat16(2.0F)};
  atomicAdd(&pair, __nv_bfloat162{__nv_bfloat16(0.5F), __nv_bfloat16(-4.0F)});
  CHECK(float{pair.x} == 1.5F);
  CHECK(float{pair.y} == -2.0F);
}

TEST_CASE("a sum of floats keeps the sign of zero, and NaN") {
  CHECK(std::signbit(after(-0.0F, [](float* p) { return atomicAdd(p, -0.0F); })));
  float nan = std::numeric_limits<float>::quiet_NaN();
  atomicAdd(&nan, 1.0F);
  CHECK(nan != nan);
}

}  // namespace
}  // namespace recto
