// Kernels with one fault each, found under every policy, and their right twins, which are silent.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

const std::string kStart =
    ".reg .pred %p<10>;\n.reg .b16 %h<10>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<10>;\n"
    ".loc 1 7 1\nmov.u32 %r0, %tid.x;\nld.param.u64 %rd0, [out];\nld.param.u64 %rd2, [in];\n"
    "mul.wide.u32 %rd1, %r0, 8;\nadd.s64 %rd1, %rd0, %rd1;\nmov.u32 %r9, smem;\n"
    "shl.b32 %r8, %r0, 2;\nadd.u32 %r9, %r9, %r8;\n.loc 1 8 1\n";

struct Canary {
  std::string name;
  Check check;
  std::string wrong;
  std::string right;
  std::string text;  // a part of the finding
  unsigned threads = 64;
  unsigned blocks = 1;
};

LaunchReport run(const Canary& canary, const std::string& body, const Schedule& schedule) {
  TestKernel kernel;
  kernel.body = kStart + body + "\nret;";
  kernel.parameters += ", .param .u64 in, .param .u64 fresh";
  kernel.declarations = ".file 1 \"canary.cu\"\n.shared .align 16 .b8 smem[1024];";
  std::vector<std::uint64_t> out(canary.threads * canary.blocks);
  const std::vector<std::uint32_t> in(64, 1);
  std::vector<std::uint32_t> fresh(64);
  DeviceMemory memory;
  memory.add("out", out.data(), out.size() * 8);
  memory.add("in", in.data(), 256, BufferAccess::kReadOnly);
  memory.add("fresh", fresh.data(), 256, BufferAccess::kWriteFirst);
  return LoadedKernel(kernel).run(
      {{canary.blocks, 1, 1}, {canary.threads, 1, 1}, 0},
      Arguments().add(out.data()).add(in.data()).add(fresh.data()), memory,
      {.checks = Checks::all(), .schedule = schedule, .steps_max = 1'000'000});
}

const std::string kUse = "\nld.shared.u32 %r1, [%r7];";
const std::string kNeighbour = "mov.u32 %r6, smem;\nxor.b32 %r7, %r8, 4;\nadd.u32 %r7, %r6, %r7;";
const std::string kFar = "mov.u32 %r6, smem;\nxor.b32 %r7, %r8, 128;\nadd.u32 %r7, %r6, %r7;";
const std::string kRows =
    "mov.u32 %r6, smem;\nmad.lo.u32 %r7, %r0, 32, %r6;\nst.shared.v2.u64 [%r7], {0, 0};\n"
    "st.shared.v2.u64 [%r7+16], {0, 0};\nbar.warp.sync -1;\n";
const std::string kMatrix =
    "\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r1];";

std::vector<Canary> memory_canaries() {
  return {
      {"a store beyond a buffer", Check::kOutOfBounds, "st.global.u64 [%rd1+256], 1;",
       "st.global.u64 [%rd1], 1;", "writes 8 bytes of memory 0 bytes past the end of out", 32},
      {"a load before a buffer", Check::kOutOfBounds, "ld.global.u32 %r1, [%rd2+-4];",
       "ld.global.u32 %r1, [%rd2+252];", "reads 4 bytes of memory 4 bytes before in (256 bytes)"},
      {"a null pointer", Check::kOutOfBounds, "mov.u64 %rd2, 0;\nld.global.u32 %r1, [%rd2];",
       "ld.global.u32 %r1, [%rd0];", "reads 4 bytes of null"},
      {"a store to read-only memory", Check::kReadOnly, "st.global.u32 [%rd2], 1;",
       "ld.global.u32 %r1, [%rd2];", "writes 4 bytes of in+0"},
      {"a store beyond shared variables", Check::kOutOfBounds, "st.shared.u32 [%r9+1024], 1;",
       "st.shared.u32 [%r9+512], 1;", "shared memory 0 bytes past the end of smem (1024 bytes)",
       32},
      {"a misaligned load", Check::kMisaligned, "ld.global.u64 %rd3, [%rd2+4];",
       "ld.global.u64 %rd3, [%rd2+8];", "reads 8 bytes of in+4"},
      {"a read of unwritten shared memory", Check::kUninitialisedMemory,
       "ld.shared.u32 %r1, [%r9];", "st.shared.u32 [%r9], 1;\nld.shared.u32 %r1, [%r9];",
       "reads 4 bytes of smem+"},
      {"a read of half of what was written", Check::kUninitialisedMemory,
       "st.shared.u16 [%r9], 1;\nld.shared.u32 %r1, [%r9];",
       "st.shared.u16 [%r9], 1;\nst.shared.u16 [%r9+2], 1;\nld.shared.u32 %r1, [%r9];",
       "which was never written"},
      {"a read of a buffer that holds nothing", Check::kUninitialisedMemory,
       "ld.param.u64 %rd2, [fresh];\nld.global.u32 %r1, [%rd2];", "ld.global.u32 %r1, [%rd2];",
       "reads 4 bytes of fresh+0"},
  };
}

// Both begin with `start`.
Canary undefined(const std::string& name, const std::string& start, const std::string& wrong,
                 const std::string& right, const std::string& text) {
  return {name, Check::kUndefinedRegister, start + wrong, start + right, text};
}

std::vector<Canary> register_canaries() {
  const std::string use = "add.u32 %r3, %r2, 4;\nadd.u32 %r4, %r9, %r3;\nst.shared.u32 [%r4], 1;";
  const std::string some = "@%p1 mov.u32 %r2, 1;\nst.shared.u32 [%r9], %r2;";
  const std::string branch = "@%p3 bra L;\nmov.u32 %r1, 0;\nL:";
  return {
      undefined("an undefined register in an address", "", use, "mov.u32 %r2, 0;\n" + use,
                "uses a register that was never written"),
      undefined("a register that only some lanes define", "setp.lt.u32 %p1, %r0, 5;\n", some,
                "mov.u32 %r2, 0;\n" + some, "thread "),
      undefined("an undefined half of a pair", "mov.b16 %h1, 1;\nmov.b32 %r1, {%h1, %h2};\n",
                "mov.b32 {_, %h3}, %r1;\nst.shared.u16 [%r9], %h3;",
                "mov.b32 {%h3, _}, %r1;\nst.shared.u16 [%r9], %h3;", "st.shared.u16"),
      undefined("an undefined half of a pair of fp8",
                "mov.b32 %r1, 0;\ncvt.rn.satfinite.e4m3x2.f32 %h1, %r2, %r1;\n"
                "cvt.rn.f16x2.e4m3x2 %r3, %h1;\n",
                "mov.b32 {%h3, %h4}, %r3;\nst.shared.u16 [%r9], %h4;",
                "add.f16x2 %r3, %r3, %r3;\nmov.b32 {%h3, %h4}, %r3;\nst.shared.u16 [%r9], %h3;",
                "st.shared.u16"),
      undefined("an undefined half that is stored", "mov.b16 %h1, 1;\nmov.b32 %r1, {%h1, %h2};\n",
                "st.shared.u32 [%r9], %r1;", "st.shared.u16 [%r9], %r1;", "st.shared.u32"),
      undefined("an undefined byte of a register of 16 bits",
                "mov.b32 %r1, 0;\ncvt.rn.satfinite.e4m3x2.f32 %h1, %r2, %r1;\n",
                "cvt.u32.u16 %r3, %h1;\nst.shared.u32 [%r9], %r3;",
                "cvt.u32.u8 %r3, %h1;\nst.shared.u32 [%r9], %r3;", "st.shared.u32"),
      undefined("an undefined half of a quadruple",
                "mov.b16 %h1, 1;\nmov.b64 %rd2, {%h1, %h1, %h2, %h1};\n",
                "mov.b64 {_, %r1}, %rd2;\nst.shared.u32 [%r9], %r1;",
                "cvt.u32.u64 %r1, %rd2;\nst.shared.u32 [%r9], %r1;", "st.shared.u32"),
      undefined("bytes of an undefined register", "mov.b32 %r1, 7;\n",
                "prmt.b32 %r3, %r1, %r2, 0x4321;\nst.shared.u32 [%r9], %r3;",
                "prmt.b32 %r3, %r1, %r2, 0x3201;\nst.shared.u32 [%r9], %r3;", "st.shared.u32"),
      undefined("an undefined register under a mask", "",
                "and.b32 %r3, %r2, 1;\nst.shared.u32 [%r9], %r3;",
                "and.b32 %r3, %r2, 0;\nxor.b32 %r4, %r5, %r5;\nor.b32 %r3, %r3, %r4;\n"
                "mov.b16 %h1, 3;\nmov.b32 %r6, {%h1, %h2};\nand.b32 %r6, %r6, 0xffff;\n"
                "or.b32 %r3, %r3, %r6;\nst.shared.u32 [%r9], %r3;",
                "st.shared.u32"),
      undefined("an undefined branch", "", branch, "setp.eq.u32 %p3, %r0, 0;\n" + branch, "bra"),
  };
}

// Threads 0 and 32 write and count; the one that is second to count reads what the first wrote.
std::string between_warps(const std::string& fence, const std::string& scope) {
  return "setp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u32 [smem+512], 0;\nbar.sync 0;\n"
         "and.b32 %r1, %r0, 31;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra END;\n"
         "st.shared.u32 [%r9], 1;\n" +
         fence + "\natom.relaxed." + scope + ".shared.add.u32 %r2, [smem+512], 1;\n" + fence +
         "\n" + kFar + "\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 ld.shared.u32 %r3, [%r7];\nEND:";
}

// Two blocks do the same.
std::string between_blocks(const std::string& fence) {
  return "mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd3, %r1, 8;\nadd.s64 %rd3, %rd0, %rd3;\n"
         "st.global.u32 [%rd3], 1;\n" +
         fence + "\natom.relaxed.gpu.global.add.u32 %r2, [%rd0+4], 1;\n" + fence +
         "\nsetp.eq.u32 %p1, %r2, 1;\nxor.b32 %r1, %r1, 1;\nmul.wide.u32 %rd3, %r1, 8;\n"
         "add.s64 %rd3, %rd0, %rd3;\n@%p1 ld.global.u32 %r3, [%rd3];";
}

// Barriers, fences and atomic operations that order accesses.
std::vector<Canary> order_canaries() {
  return {
      {"a missing block barrier", Check::kRace, "st.shared.u32 [%r9], %r0;\n" + kFar + kUse,
       "st.shared.u32 [%r9], %r0;\n" + kFar + "\nbar.sync 0;" + kUse, "canary.cu:8"},
      {"a missing warp barrier", Check::kRace, "st.shared.u32 [%r9], %r0;\n" + kNeighbour + kUse,
       "st.shared.u32 [%r9], %r0;\n" + kNeighbour + "\nbar.warp.sync -1;" + kUse,
       "reads 4 bytes of smem+", 32},
      {"a shuffle instead of a barrier", Check::kRace,
       "st.shared.u32 [%r9], %r0;\nshfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;\n" + kNeighbour + kUse,
       "st.shared.u32 [%r9], %r0;\nbar.sync 0;\n" + kNeighbour + kUse, "race in kernel 'k'", 32},
      {"a write that overtakes reads", Check::kRace,
       "st.shared.u32 [%r9], %r0;\nbar.sync 0;\n" + kFar + kUse + "\nst.shared.u32 [%r9], 1;",
       "st.shared.u32 [%r9], %r0;\nbar.sync 0;\n" + kFar + kUse +
           "\nbar.sync 0;\nst.shared.u32 [%r9], 1;",
       "writes 4 bytes of smem+"},
      {"lanes that store different values in one place", Check::kRace,
       "st.shared.u32 [smem+16], %r0;", "st.shared.u32 [%r9], %r0;", "another lane overwrites", 32},
      {"a race in global memory between threads", Check::kRace,
       "st.global.u64 [%rd1], 1;\nld.global.u64 %rd3, [%rd0+256];",
       "st.global.u64 [%rd1], 1;\nbar.sync 0;\nld.global.u64 %rd3, [%rd0+256];", "out+256"},
      {"a race between thread blocks", Check::kGridRace, "st.global.u64 [%rd1], 1;",
       "mov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd3, %r1, 64;\nadd.s64 %rd1, %rd1, %rd3;\n"
       "st.global.u64 [%rd1], 1;",
       "of block (", 8, 2},
      {"a flag without fences", Check::kRace, between_warps("", "gpu"),
       between_warps("membar.cta;", "cta"), "reads 4 bytes of smem+"},
      {"atomic operations of two blocks in the scope of one", Check::kGridRace,
       "red.relaxed.cta.global.add.u32 [%rd0], 1;", "red.relaxed.gpu.global.add.u32 [%rd0], 1;",
       "of block (", 8, 2},
      {"a fence for one block between two", Check::kGridRace, between_blocks("fence.acq_rel.cta;"),
       between_blocks("fence.acq_rel.gpu;"), "of block (", 1, 2},
  };
}

const std::string kCopy = "cp.async.ca.shared.global [%r9], [%rd2], 4;\n";

// Copies `bytes`, and zeros up to four.
std::string part_of(int offset, int bytes) {
  return "mov.u32 %r1, " + std::to_string(bytes) + ";\ncp.async.ca.shared.global [%r9], [%rd2+" +
         std::to_string(offset) + "], 4, %r1;\ncp.async.wait_all;";
}

std::vector<Canary> copy_canaries() {
  return {
      {"a copy that is read before its wait", Check::kUnfinishedCopy,
       kCopy + "cp.async.commit_group;\nld.shared.u32 %r1, [%r9];\ncp.async.wait_group 0;",
       kCopy + "cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 %r1, [%r9];",
       "copies to it until it is waited for"},
      {"a wait for too few groups", Check::kUnfinishedCopy,
       kCopy + "cp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.u32 %r1, [%r9];\n"
               "cp.async.wait_all;",
       kCopy + "cp.async.commit_group;\ncp.async.ca.shared.global [%r9+512], [%rd2], 4;\n"
               "cp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.u32 %r1, [%r9];\n"
               "cp.async.wait_all;",
       "unfinished copy"},
      {"a copy that its thread alone has waited for", Check::kRace,
       kCopy + "cp.async.wait_all;\n" + kFar + kUse,
       kCopy + "cp.async.wait_all;\nbar.sync 0;\n" + kFar + kUse, ""},
      {"a copy of more than it has room for", Check::kOutOfBounds, part_of(0, 5), part_of(0, 3),
       "copies 5 bytes to 4"},
      {"a misaligned copy of a part", Check::kMisaligned, part_of(2, 2), part_of(4, 2),
       "copies 4 bytes of in+2"},
      {"an exit before a copy has ended", Check::kUnfinishedCopy, kCopy,
       kCopy + "cp.async.wait_all;", "exits before its copy has ended"},
  };
}

// Instructions in which threads meet.
std::vector<Canary> meeting_canaries() {
  return {
      {"a barrier that some threads miss", Check::kBarrierDivergence,
       "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra L;\nbar.sync 0;\nL: bar.sync 1;",
       "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra L;\nmov.u32 %r1, 0;\nL: bar.sync 1;",
       "waits at a barrier that others never reach"},
      {"lanes of a warp at different barriers", Check::kBarrierDivergence,
       "setp.lt.u32 %p1, %r0, 5;\n@%p1 bra L;\nbar.sync 0;\nbra D;\nL: bar.sync 0;\nD:",
       "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra L;\nbar.sync 0;\nbra D;\nL: bar.sync 0;\nD:",
       "waits at another"},
      {"threads that exit before a barrier", Check::kExitBeforeBarrier,
       "setp.lt.u32 %p1, %r0, 5;\n@%p1 exit;\nbar.sync 0;", "bar.sync 0;", "5 threads have exited"},
      {"lanes of a mask that never arrive", Check::kWarpMask,
       "setp.lt.u32 %p1, %r0, 5;\n@%p1 bra L;\nshfl.sync.idx.b32 %r1, %r0, 7, 31, -1;\nbra D;\n"
       "L: bar.warp.sync 0xffff;\nD:",
       "setp.lt.u32 %p1, %r0, 5;\n@%p1 bra L;\nmov.u32 %r1, 0;\nL: bar.warp.sync -1;",
       "waits for lanes of its mask that never arrive", 32},
      {"a lane outside its mask", Check::kWarpMask, "shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffff;",
       "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;", "lane 16"},
      {"a shuffle from a lane that takes no part", Check::kShuffleSource,
       "setp.lt.u32 %p1, %r0, 16;\n@!%p1 bra D;\nshfl.sync.idx.b32 %r1, %r0, 20, 31, 0xffff;\nD:",
       "setp.lt.u32 %p1, %r0, 16;\n@!%p1 bra D;\nshfl.sync.idx.b32 %r1, %r0, 12, 31, 0xffff;\nD:",
       "takes the value of lane 20", 32},
      {"a shuffle from a lane of another mask", Check::kShuffleSource,
       "setp.lt.u32 %p1, %r0, 16;\nselp.b32 %r5, 0xffff, 0xffff0000, %p1;\n"
       "shfl.sync.bfly.b32 %r1, %r0, 16, 31, %r5;",
       "setp.lt.u32 %p1, %r0, 16;\nselp.b32 %r5, 0xffff, 0xffff0000, %p1;\n"
       "shfl.sync.bfly.b32 %r1, %r0, 8, 31, %r5;",
       "takes the value of lane", 32},
      {"lanes of one mask that name others", Check::kWarpMask,
       "setp.eq.u32 %p1, %r0, 0;\nselp.b32 %r5, -1, 0xfffffffe, %p1;\n"
       "shfl.sync.idx.b32 %r1, %r0, 1, 31, %r5;",
       "setp.eq.u32 %p1, %r0, 0;\nselp.b32 %r5, 1, 0xfffffffe, %p1;\n"
       "shfl.sync.bfly.b32 %r1, %r0, 0, 31, %r5;",
       "has lane 1 in its mask, which names another mask", 32},
      {"a barrier for half of a warp", Check::kBarrierDivergence, "bar.sync 0, 16;",
       "bar.sync 0, 64;", "expects 16 threads at barrier 0, which is no multiple of 32"},
      {"a trap", Check::kAssertion, "trap;", "", "stops the kernel"},
      {"a row of a matrix whose lane has exited", Check::kWarpMask,
       kRows + "mad.lo.u32 %r1, %r0, 16, %r6;\nsetp.eq.u32 %p1, %r0, 3;\n@%p1 exit;" + kMatrix,
       kRows + "mad.lo.u32 %r1, %r0, 16, %r6;" + kMatrix, "of lane 3, which takes no part", 32},
      {"a row of a matrix out of bounds", Check::kOutOfBounds,
       kRows + "mad.lo.u32 %r1, %r0, 48, %r6;" + kMatrix,
       kRows + "mad.lo.u32 %r1, %r0, 16, %r6;" + kMatrix, "reads 16 bytes of shared memory", 32},
  };
}

TEST_CASE("each fault is found by its check, and the right kernel has no finding") {
  std::vector<Canary> canaries = memory_canaries();
  for (const auto& more :
       {register_canaries(), order_canaries(), copy_canaries(), meeting_canaries()}) {
    canaries.insert(canaries.end(), more.begin(), more.end());
  }
  for (const Canary& canary : canaries) {
    for (const Schedule& schedule : test_schedules()) {
      INFO(canary.name << ": " << simt::schedule_policy_name(schedule.policy) << " "
                       << schedule.seed);
      CHECK(run(canary, canary.right, schedule).text() == "");
      const LaunchReport report = run(canary, canary.wrong, schedule);
      REQUIRE(!report.passed());
      CHECK(std::any_of(report.findings.begin(), report.findings.end(),
                        [&](const Finding& found) { return found.check == canary.check; }));
      CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring(canary.text));
      CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring("canary.cu:8 (PTX line "));
    }
  }
}

}  // namespace
}  // namespace recto::ptx
