// Accesses that host code may declare to be meant: equal stores to one place, and reads
// of unwritten shared memory.

#include <cstdint>
#include <cstring>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/library/cudart/device_test_parts.h"

namespace recto::cudart {
namespace {

using Catch::Matchers::ContainsSubstring;

// Each thread stores what `value` says in one place; the first warp reads unwritten
// shared memory into y.
std::string common_stores(const std::string& kernel, const std::string& value) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry )" +
         kernel + R"((.param .u64 x, .param .u64 y)
{
.shared .align 4 .b8 place[8];
.reg .b32 %r<4>;
.reg .pred %p1;
.reg .b64 %rd<4>;
mov.u32 %r1, %tid.x;
mov.u32 %r2, )" +
         value + R"(;
st.shared.u32 [place], %r2;
setp.ge.u32 %p1, %r1, 32;
@%p1 ret;
ld.shared.u32 %r3, [place+4];
mul.wide.u32 %rd1, %r1, 4;
ld.param.u64 %rd2, [y];
add.s64 %rd2, %rd2, %rd1;
st.global.u32 [%rd2], %r3;
ret;
}
)";
}

const char kEqualKernel = 0;
const char kOtherKernel = 0;

// The findings of a launch.
std::string findings(const void* kernel, const RunOptions& options, Arrays& arrays,
                     unsigned threads = kThreads) {
  static const bool kIsAdded = [] {
    Modules& modules = Device::instance().modules();
    modules.add_kernel(modules.add(common_stores("equal", "7")), &kEqualKernel, "equal");
    modules.add_kernel(modules.add(common_stores("other", "%tid.x")), &kOtherKernel, "other");
    return true;
  }();
  REQUIRE(kIsAdded);
  arrays.begin(options);
  void* x = arrays.x.data();
  void* y = arrays.y.data();
  void* arguments[] = {&x, &y};
  CHECK(cudaLaunchKernel(kernel, {1, 1, 1}, {threads, 1, 1}, arguments, 0, nullptr) == cudaSuccess);
  return device().end_run();
}

TEST_CASE("stores by two warps in one place are races, unless they are declared equal") {
  Arrays arrays;
  RunOptions options = {.launch = {.checks = {.races = true}}};
  CHECK_THAT(findings(&kEqualKernel, options, arrays, 2 * kThreads),
             ContainsSubstring("race in kernel 'equal'"));
  options.launch.allows_equal_stores = true;
  CHECK(findings(&kEqualKernel, options, arrays, 2 * kThreads).empty());
}

TEST_CASE("different values stored by lanes of one warp are a race, whatever is declared") {
  Arrays arrays;
  RunOptions options = {.launch = {.checks = {.races = true}}};
  options.launch.allows_equal_stores = true;
  CHECK_THAT(findings(&kOtherKernel, options, arrays),
             ContainsSubstring("another lane overwrites in the same instruction"));
  CHECK(findings(&kEqualKernel, options, arrays).empty());
}

TEST_CASE("unwritten shared memory holds NaN if reads of it are declared") {
  Arrays arrays;
  CHECK_THAT(findings(&kEqualKernel, {}, arrays), ContainsSubstring("uninitialised read"));
  const RunOptions options = {.launch = {.checks = {.races = true, .undefined_registers = true}}};
  CHECK(findings(&kEqualKernel, options, arrays).empty());
  CHECK(arrays.y == std::vector<std::uint32_t>(kThreads, ~std::uint32_t{0}));
}

}  // namespace
}  // namespace recto::cudart
