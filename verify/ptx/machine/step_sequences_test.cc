// Instructions of several steps: carries, packs, pairs and sinks.

#include <cstdint>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

constexpr std::uint64_t kOnes32 = 0xffffffff;

TEST_CASE("carries, packs, pairs and sinks give the results of the ISA") {
  const auto last = [](const std::string& body) {
    TestKernel kernel;
    kernel.body = ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" +
                  body + "\nld.param.u64 %rd8, [out];\nst.global.u64 [%rd8], %rd1;\nret;";
    const OutRun run = run_out(kernel, 1);
    CHECK(run.report.text().empty());
    return run.out[0];
  };
  CHECK(last("add.cc.u32 %r1, -1, 2;\naddc.cc.u32 %r2, -1, 0;\naddc.u32 %r3, 5, 0;\n"
             "mov.b64 %rd1, {%r2, %r3};") == (std::uint64_t{6} << 32));
  CHECK(last("sub.cc.u32 %r1, 0, 1;\nsubc.u32 %r2, 7, 0;\nmov.b64 %rd1, {%r1, %r2};") ==
        (std::uint64_t{6} << 32 | kOnes32));
  CHECK(last("mad.lo.cc.u32 %r1, 65536, 65535, 65536;\nmadc.hi.u32 %r2, 65536, 65536, 2;\n"
             "mov.b64 %rd1, {%r1, %r2};") == (std::uint64_t{4} << 32));
  CHECK(last("mov.b64 %rd2, 0x1122334455667788;\nmov.b64 {%h1, _, %h3, %h4}, %rd2;\n"
             "mov.b32 %r1, {%h4, %h1};\nmov.b64 {_, %r2}, %rd2;\nmov.b64 %rd1, {%r1, %r2};") ==
        0x1122334477881122);
  CHECK(last("setp.lt.s32 %p1|%p2, 1, 2;\nselp.b64 %rd1, 1, 0, %p1;\n"
             "@%p2 mov.b64 %rd1, 7;") == 1);
  CHECK(last("mov.pred %p1, 1;\nsetp.eq.and.s32 %p1|%p2, 1, 2, !%p1;\n"
             "selp.b64 %rd1, 1, 0, %p2;") == 0);
  // A guard among the results.
  for (const std::string guard : {"%p1", "!%p2"}) {
    CHECK(last("mov.pred %p1, 1;\nmov.pred %p2, 0;\n@" + guard +
               " setp.eq.s32 %p1|%p2, 1, 2;\nselp.b64 %rd1, 2, 0, %p1;\n"
               "@%p2 add.u64 %rd1, %rd1, 1;") == 1);
  }
  for (const std::string guard : {"%p2", "!%p1"}) {
    CHECK(last("mov.pred %p1, 0;\nmov.pred %p2, 1;\n@" + guard +
               " setp.eq.s32 %p1|%p2, 1, 1;\nselp.b64 %rd1, 2, 0, %p1;\n"
               "@%p2 add.u64 %rd1, %rd1, 1;") == 2);
  }
  CHECK(last("setp.eq.f16x2 %p1|%p2, 0x3c000000, 0x3c003c00;\nselp.b64 %rd1, 1, 0, %p2;\n"
             "@%p1 mov.b64 %rd1, 7;") == 1);
  CHECK(last("mov.pred %p1, 0;\nlop3.or.b32 %r1|%p2, 12, 10, 9, 0xe8, %p1;\n"
             "lop3.and.b32 _|%p3, 12, 10, 9, 0xe8, %p1;\nselp.b32 %r2, 1, 0, %p2;\n"
             "selp.b32 %r3, 1, 0, %p3;\nmad.lo.u32 %r1, %r1, 10, %r2;\n"
             "mad.lo.u32 %r1, %r3, 1000, %r1;\ncvt.u64.u32 %rd1, %r1;") == 81);
  CHECK(last("lop3.b32 %r1, 12, 10, 9, 0xe8;\ncvt.u64.u32 %rd1, %r1;") == 8);
}

}  // namespace
}  // namespace recto::ptx
