// Instructions that cannot be run: an error with its line, before anything runs.

#include <string>

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

TEST_CASE("forms that cannot be run are refused, before anything runs") {
  const auto refuses = [](const std::string& instruction, const std::string& why) {
    TestKernel kernel;
    kernel.body =
        ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
        ".reg .f32 %f<9>;\n" +
        instruction + "\nret;";
    INFO(instruction);
    CHECK(!refusal_of(kernel).empty());
    CHECK_THAT(refusal_of(kernel), Catch::Matchers::ContainsSubstring(why));
  };
  refuses("frobnicate.b32 %r1, %r2;", "k: line 12: frobnicate.b32: not an instruction");
  refuses("add.rx.f32 %f1, %f2, %f3;", "not an instruction that can be run here");
  refuses("add.s32 %r1, %rd2, %r3;", "register %rd2 has another width");
  refuses("add.s32 %r1, %r2;", "expected 3 operands");
  refuses("add.s32 5, %r2, %r3;", "the result must be a register");
  refuses("mov.u32 %r1, nowhere;", "'nowhere' is not declared");
  refuses("mov.u32 %r1, %nowhere;", "'%nowhere' is no register that is known here");
  refuses("bra nowhere;", "label 'nowhere' is not defined");
  refuses("tcgen05.alloc.b32 [%r1], 32;", "tcgen05.alloc.b32: not an instruction");
  refuses("ld.global.b128 %rd1, [%rd2];", "not an instruction");
  refuses("ld.global.u64 %r1, [%rd2];", "a register is too narrow");
  for (const char* instruction :
       {"atom.global.inc.u64 %rd1, [%rd2], %rd3;",
        "atom.global.add.f16 %h1, [%rd2], %h2;",
        "atom.global.min.noftz.f16 %h1, [%rd2], %h2;",
        "atom.global.add.noftz.f32 %f1, [%rd2], %f2;",
        "atom.global.add.s64 %rd1, [%rd2], %rd3;",
        "red.global.exch.b32 [%rd2], %r1;",
        "red.global.max.v2.f32 [%rd2], {%f1, %f2};",
        "atom.global.shared.add.u32 %r1, [%rd2], %r2;",
        "cp.async.cg.shared.global [%r1], [%rd2], 8;",
        "cp.async.ca.shared.global [%r1], [%rd2], 16, %r2, %rd3;",
        "bar.arrive 0;",
        "pack.b32 %r1, %h1, %h2;",
        "extract.b16.b32 %h1, %r1, %r2;",
        "sum.add.b32 %r1, %r2, %r3, %p1;",
        "red.global.add.v8.f32 [%rd2], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};",
        "red.shared.add.v2.f32 [%r1], {%f1, %f2};",
        "red.weak.global.add.u32 [%rd2], %r1;",
        "set.eq.u64.f32 %rd1, %f1, %f2;",
        "set.eq.f16.f16x2 %h1, %r1, %r2;",
        "set.eq.f32.f16x2 %f1, %r1, %r2;",
        "set.eq.f16x2.s32 %r1, %r2, %r3;",
        "cvt.rn.satfinite.relu.f16x2.f32 %r1, %f1, %f2;",
        "cvt.rn.relu.satfinite.tf32.f32 %r1, %f1;",
        "cvt.rna.relu.tf32.f32 %r1, %f1;",
        "cvt.rm.satfinite.f16.f32 %h1, %f1;",
        "mad24.lo.sat.s32 %r1, %r2, %r3, %r4;",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;",
        "max.xorsign.abs.f32 %f1, %f2, %f3;"}) {
    refuses(instruction, "");
  }
  refuses("call.uni malloc, (%r1);", "is not defined");
}

std::string refusal_of_hint(const std::string& instruction) {
  TestKernel kernel;
  kernel.declarations = ".func f() { ret.uni; }";
  kernel.body = ".reg .pred %p<3>;\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n.reg .f32 %f<3>;\n" +
                instruction + ";\nret;";
  return refusal_of(kernel);
}

TEST_CASE("hints that PTX has can be run") {
  for (const char* instruction :
       {"elect.sync _|%p1, -1",
        "activemask.b32 %r1",
        "griddepcontrol.wait",
        "griddepcontrol.launch_dependents",
        "nanosleep.u32 %r1",
        "pmevent 1",
        "pmevent.mask 3",
        "prefetch.global.L2 [%rd1]",
        "prefetch.L1 [%rd1+4]",
        "prefetch.tensormap [%rd1]",
        "prefetch.param.tensormap [out]",
        "prefetch.global.L2::evict_last [%rd1]",
        "prefetchu.L1 [%rd1]",
        "discard.global.L2 [%rd1], 128",
        "call.uni f",
        "ret.uni",
        "applypriority.L2::evict_normal [%rd1], 128",
        "createpolicy.cvt.L2.b64 %rd1, %rd2",
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, %f1",
        "createpolicy.range.global.L2::evict_last.b64 %rd1, [%rd2], 256, %r1"}) {
    CHECK(refusal_of_hint(instruction) == "");
  }
}

TEST_CASE("hints that PTX does not have are refused with their lines") {
  for (const char* instruction : {"elect %r1|%p1, -1",
                                  "elect.sync.b32 %r1|%p1, -1",
                                  "activemask %r1",
                                  "activemask.b64 %rd1",
                                  "griddepcontrol",
                                  "griddepcontrol.wait.all",
                                  "griddepcontrol.wait 1",
                                  "nanosleep 5",
                                  "nanosleep.u64 %rd1",
                                  "nanosleep.u32 %r1, %r2",
                                  "pmevent.any 1",
                                  "prefetch [%rd1]",
                                  "prefetch.shared.L1 [%rd1]",
                                  "prefetch.global.L3 [%rd1]",
                                  "prefetch.global.L2 %rd1",
                                  "prefetch.L2::evict_last [%rd1]",
                                  "prefetchu.L2 [%rd1]",
                                  "discard.L1 [%rd1], 128",
                                  "discard.global.L2 [%rd1], 64",
                                  "discard.global.L2 [%rd1]",
                                  "call.sys f",
                                  "exit.uni",
                                  "ret.sync",
                                  "trap.all",
                                  "applypriority.L2::evict_last [%rd1], 128",
                                  "createpolicy.b64 %rd1",
                                  "createpolicy.fractional.L2.b64 %rd1",
                                  "createpolicy.cvt.L2.b64 %rd1",
                                  "createpolicy.range.L2::evict_last.b64 %rd1, %f1"}) {
    INFO(instruction);
    CHECK_THAT(refusal_of_hint(instruction), Catch::Matchers::ContainsSubstring("k: line "));
  }
}

TEST_CASE("functions that call each other exponentially often are refused with a line") {
  TestKernel kernel;
  kernel.declarations = ".func f0() { }\n";
  for (int i = 1; i < 63; ++i) {
    const std::string call = "call f" + std::to_string(i - 1) + "; ";
    kernel.declarations += ".func f" + std::to_string(i) + "() { " + call + call + "}\n";
  }
  kernel.body = "call f62;\nret;";
  CHECK_THAT(refusal_of(kernel), Catch::Matchers::ContainsSubstring("k: line ") &&
                                     Catch::Matchers::ContainsSubstring("the calls are too many"));
  kernel.body = "call f9;\nret;";
  CHECK(refusal_of(kernel).empty());
}

TEST_CASE("more branches and values than liveness can take are refused with a line") {
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  TestKernel kernel;
  kernel.declarations = ".func f0() { .reg .pred %p<2>;\n" +
                        repeated("@%p1 ret;\nsetp.lt.and.u32 %p1, 1, 2, !%p1;\n", 30) +
                        "}\n.func f1() { " + repeated("call f0; ", 32) + "}\n";
  kernel.body = repeated("call f1; ", 32) + "\nret;";
  CHECK_THAT(refusal_of(kernel), Catch::Matchers::ContainsSubstring("k: line 68: ") &&
                                     Catch::Matchers::ContainsSubstring("values are too many"));
  kernel.body = "call f1;\nret;";
  CHECK(refusal_of(kernel).empty());
}

TEST_CASE("products of warpgroups have factors of 1 and -1, and transpositions of 0 and 1") {
  const auto refusal = [](const std::string& last) {
    TestKernel kernel;
    kernel.body =
        ".reg .pred %p<2>;\n.reg .b64 %rd<3>;\n.reg .f32 %f<5>;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, "
        "%p1, " +
        last + ";\nret;";
    return refusal_of(kernel);
  };
  for (const char* last : {"1, 1, 0, 0", "-1, 1, 1, 0", "1, -1, 0, 1"})
    CHECK(refusal(last).empty());
  for (const char* last : {"2, 1, 0, 0", "1, 0, 0, 0", "1, 1, 2, 0", "1, 1, 0, -1"}) {
    CHECK_THAT(refusal(last), Catch::Matchers::ContainsSubstring("not an instruction"));
  }
}

}  // namespace
}  // namespace recto::ptx
