// Lanes that part and meet, under every policy: branches, loops, tables, calls, exits.

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

// `body` computes %r1 from %r0, the thread's number, and may use %r2 to %r9, %p0 to %p9.
TestKernel thread_kernel(const std::string& body) {
  TestKernel kernel;
  kernel.body =
      ".reg .pred %p<10>;\n.reg .b32 %r<10>;\n.reg .b64 %rd<10>;\nmov.u32 %r0, %tid.x;\n" + body +
      "\nEND:\nld.param.u64 %rd8, [out];\nmul.wide.u32 %rd9, %r0, 8;\nadd.s64 %rd8, %rd8, %rd9;\n"
      "cvt.u64.u32 %rd7, %r1;\nst.global.u64 [%rd8], %rd7;\nret;";
  return kernel;
}

template <typename Expected>
void check_threads(const TestKernel& kernel, unsigned threads, Expected expected) {
  for (const Schedule& schedule : test_schedules()) {
    LaunchOptions options{.checks = Checks::all(), .schedule = schedule};
    const OutRun run = run_out(kernel, threads, options);
    INFO(simt::schedule_policy_name(schedule.policy) << " " << schedule.seed);
    CHECK(run.report.text().empty());
    for (unsigned i = 0; i < threads; ++i) {
      INFO("thread " << i);
      REQUIRE(run.out[i] == expected(i));
    }
  }
}

TEST_CASE("lanes part at a branch and meet behind it") {
  check_threads(thread_kernel("and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p1, %r2, 0;\nmov.u32 %r1, 0;\n"
                              "@%p1 bra EVEN;\nadd.u32 %r1, %r1, 5;\nbra.uni BOTH;\n"
                              "EVEN: add.u32 %r1, %r1, 3;\nBOTH: add.u32 %r1, %r1, 100;"),
                70, [](unsigned i) { return i % 2 == 0 ? 103U : 105U; });
}

TEST_CASE("loops whose trip counts differ by lane end with all lanes together") {
  check_threads(thread_kernel("mov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
                              "LOOP: add.u32 %r1, %r1, %r2;\nadd.u32 %r2, %r2, 1;\n"
                              "setp.le.u32 %p1, %r2, %r0;\n@%p1 bra LOOP;\n"
                              "activemask.b32 %r3;\nsetp.ne.u32 %p2, %r3, 0;\n"
                              "@!%p2 mov.u32 %r1, 0;"),
                64, [](unsigned i) { return i * (i + 1) / 2; });
}

TEST_CASE("lanes diverge and meet in nested branches inside loops") {
  const auto expected = [](unsigned i) {
    unsigned total = 0;
    for (unsigned j = 0; j < i % 7; ++j) total += (i ^ j) % 3 == 0 ? j + 1 : (j % 2 == 0 ? 10 : 20);
    return total;
  };
  check_threads(
      thread_kernel("mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nrem.u32 %r3, %r0, 7;\n"
                    "LOOP: setp.ge.u32 %p1, %r2, %r3;\n@%p1 bra END;\n"
                    "xor.b32 %r4, %r0, %r2;\nrem.u32 %r4, %r4, 3;\nsetp.eq.u32 %p2, %r4, 0;\n"
                    "@%p2 bra THIRD;\nand.b32 %r5, %r2, 1;\nsetp.eq.u32 %p3, %r5, 0;\n"
                    "@%p3 bra EVEN;\nadd.u32 %r1, %r1, 20;\nbra NEXT;\n"
                    "EVEN: add.u32 %r1, %r1, 10;\nbra NEXT;\n"
                    "THIRD: add.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, 1;\n"
                    "NEXT: add.u32 %r2, %r2, 1;\nbra LOOP;"),
      64, expected);
}

TEST_CASE("a branch table sends each lane to its own target") {
  check_threads(thread_kernel("rem.u32 %r2, %r0, 3;\nt: .branchtargets A, B, C;\n"
                              "brx.idx %r2, t;\nA: mov.u32 %r1, 10;\nbra END;\n"
                              "B: mov.u32 %r1, 20;\nbra END;\nC: mov.u32 %r1, 30;"),
                40, [](unsigned i) { return 10 * (i % 3 + 1); });
}

TEST_CASE("lanes that exit leave the others alone") {
  TestKernel kernel;
  kernel.body =
      ".reg .pred %p<4>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<6>;\nmov.u32 %r0, %tid.x;\n"
      "and.b32 %r1, %r0, 3;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 exit;\n"
      "mov.u32 %r2, 0;\nLOOP: add.u32 %r2, %r2, 1;\nsetp.eq.u32 %p2, %r2, %r1;\n@!%p2 bra LOOP;\n"
      "ld.param.u64 %rd1, [out];\nmul.wide.u32 %rd2, %r0, 8;\nadd.s64 %rd1, %rd1, %rd2;\n"
      "cvt.u64.u32 %rd3, %r2;\nst.global.u64 [%rd1], %rd3;\nret;";
  check_threads(kernel, 37, [](unsigned i) { return i % 4; });
}

TEST_CASE("calls become part of the kernel, with results and arguments in parameters") {
  TestKernel kernel = thread_kernel(
      "{ .param .b32 a;\n.param .b32 r;\nst.param.b32 [a], %r0;\ncall.uni (r), square, (a);\n"
      "ld.param.b32 %r1, [r];\n}\n{ .param .b32 a;\n.param .b32 r;\nst.param.b32 [a], %r1;\n"
      "call.uni (r), square, (a);\nld.param.b32 %r1, [r];\n}");
  kernel.declarations =
      ".func (.param .b32 result) square(.param .b32 x)\n{ .reg .pred %p1;\n.reg .b32 %r<3>;\n"
      "ld.param.b32 %r1, [x];\nsetp.eq.u32 %p1, %r1, 3;\n@%p1 bra THREE;\n"
      "mul.lo.u32 %r2, %r1, %r1;\nst.param.b32 [result], %r2;\nret;\n"
      "THREE: st.param.b32 [result], 1000;\nret; }";
  check_threads(kernel, 40, [](unsigned i) {
    const auto square = [](unsigned x) { return x == 3 ? 1000 : x * x; };
    return square(square(i));
  });
}

TEST_CASE("a function that calls itself is refused") {
  TestKernel kernel = thread_kernel("call.uni f;");
  kernel.declarations = ".func f() { call.uni f; ret; }";
  CHECK_THAT(refusal_of(kernel), Catch::Matchers::ContainsSubstring("'f' calls itself"));
}

TEST_CASE("lanes of a warp may wait for each other through memory") {
  // Lane 0 waits for what lane 31 stores behind the branch.
  TestKernel kernel = thread_kernel(
      "ld.param.u64 %rd1, [out];\nsetp.ne.u32 %p1, %r0, 0;\n@%p1 bra OTHERS;\n"
      "SPIN: ld.volatile.global.u32 %r1, [%rd1+248];\nsetp.eq.u32 %p2, %r1, 0;\n@%p2 bra SPIN;\n"
      "bra DONE;\nOTHERS: mov.u32 %r1, 7;\nDONE: setp.eq.u32 %p3, %r0, 31;\n"
      "@%p3 st.volatile.global.u32 [%rd1+248], 7;");
  for (const Schedule& schedule : test_schedules()) {
    const OutRun run = run_out(kernel, 32, {.schedule = schedule, .steps_max = 100'000'000});
    INFO(simt::schedule_policy_name(schedule.policy) << " " << schedule.seed);
    CHECK(run.report.text().empty());
    CHECK(run.out[0] == 7);
  }
}

TEST_CASE("an endless loop ends as a finding") {
  for (const char* code : {"L: bra L;", "mov.u32 %r1, 0; L: bra L;"}) {
    const OutRun run = run_out(thread_kernel(code), 33, {.steps_max = 1000});
    REQUIRE(run.report.findings.size() == 1);
    CHECK(run.report.findings[0].check == Check::kNeverEnds);
    CHECK_THAT(run.report.text(), Catch::Matchers::ContainsSubstring("PTX line 11, bra"));
  }
}

}  // namespace
}  // namespace recto::ptx
