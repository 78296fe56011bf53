// mbarrier instructions, and what their phases order.

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

// Thread 0 initialises bar[0] with so many arrivals.
std::string with_mbarrier(const std::string& arrivals, const std::string& body) {
  return "setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared::cta.b64 [bar], " + arrivals +
         ";\nbar.sync 0;\n" + body;
}

const std::string kWait =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";

TEST_CASE("writes before an mbarrier's arrival can be read after its wait") {
  const std::string exchange =
      "mov.u32 %r2, smem;\nshl.b32 %r3, %r0, 2;\nadd.u32 %r4, %r2, %r3;\n"
      "st.shared.u32 [%r4], %r0;\n@ARRIVE@"
      "xor.b32 %r5, %r3, 128;\nadd.u32 %r6, %r2, %r5;\nld.shared.u32 %r1, [%r6];";
  const std::string ways[] = {
      "mbarrier.arrive.shared::cta.b64 %rd1, [bar];\n"
      "WAIT: mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd1;\n@!%p2 bra WAIT;\n",
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];\n"
      "WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [bar], 0, 1000;\n"
      "@!%p2 bra WAIT;\n",
      "mov.u32 %r9, bar;\ncvt.u64.u32 %rd2, %r9;\ncvta.shared.u64 %rd2, %rd2;\n"
      "mbarrier.arrive.b64 _, [%rd2];\n"
      "WAIT: mbarrier.try_wait.parity.b64 %p2, [%rd2], 0;\n@!%p2 bra WAIT;\n"};
  for (const std::string& way : ways) {
    std::string body = exchange;
    body.replace(body.find("@ARRIVE@"), 8, way);
    check_threads(with_mbarrier("64", body), 64, [](unsigned i) { return i ^ 32; });
  }
}

TEST_CASE("mbarrier phases follow one another, and a state or parity names the last two") {
  check_threads(with_mbarrier("1",
                              "mov.u32 %r1, 0;\n@!%p1 bra DONE;\n"
                              "mbarrier.arrive.shared::cta.b64 %rd1, [bar];\n"
                              "mbarrier.test_wait.shared::cta.b64 %p2, [bar], %rd1;\n"
                              "selp.u32 %r2, 1, 0, %p2;\n"
                              "mbarrier.test_wait.parity.shared::cta.b64 %p3, [bar], 0;\n"
                              "selp.u32 %r3, 2, 0, %p3;\n"
                              "mbarrier.arrive.shared::cta.b64 %rd2, [bar];\n"
                              "mbarrier.test_wait.parity.shared::cta.b64 %p4, [bar], 1;\n"
                              "selp.u32 %r4, 4, 0, %p4;\nadd.u32 %r1, %r2, %r3;\n"
                              "add.u32 %r1, %r1, %r4;\nDONE:"),
                2, [](unsigned i) { return i == 0 ? 7U : 0U; });
  // A wait for a phase that has not ended may return false.
  check_threads(with_mbarrier("1",
                              "mov.u32 %r1, 0;\n@!%p1 bra DONE;\n"
                              "mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0;\n"
                              "selp.u32 %r1, 1, 0, %p2;\n"
                              "mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 1;\n"
                              "selp.u32 %r2, 2, 0, %p2;\nadd.u32 %r1, %r1, %r2;\nDONE:"),
                2, [](unsigned i) { return i == 0 ? 2U : 0U; });
}

TEST_CASE("a phase completes when its arrivals and bytes are complete") {
  struct Case {
    std::string arrivals;
    std::string body;  // of thread 0
    unsigned expected = 0;
  };
  const std::string test =
      "\nmbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0;\nselp.u32 %r1, 1, 0, %p2;";
  const Case cases[] = {
      {"5",
       "mbarrier.arrive.noComplete.shared::cta.b64 %rd1, [bar], 2;\n"
       "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd2, [bar], 1;\n"
       "mbarrier.pending_count.b64 %r2, %rd1;\nmbarrier.pending_count.b64 %r3, %rd2;\n"
       "mad.lo.u32 %r1, %r2, 10, %r3;",
       53},
      {"4", "mbarrier.arrive.shared::cta.b64 _, [bar], 4;" + test, 1},
      {"4", "mbarrier.arrive.shared::cta.b64 _, [bar], 3;" + test, 0},
      {"1", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 48;" + test, 0},
      {"1",
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 48;\n"
       "mbarrier.complete_tx.shared::cta.b64 [bar], 32;" +
           test,
       0},
      {"1",
       "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;\n"
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 32;\n"
       "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 48;" +
           test,
       1},
      // Bytes may come before they are expected.
      {"1",
       "mbarrier.complete_tx.shared::cta.b64 [bar], 16;\n"
       "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;" +
           test,
       1},
      // Who drops out is not expected in the next phase.
      {"2",
       "mbarrier.arrive_drop.shared::cta.b64 _, [bar];\n"
       "mbarrier.arrive.shared::cta.b64 _, [bar];\n"
       "mbarrier.test_wait.parity.shared::cta.b64 %p2, [bar], 0;\n"
       "mbarrier.arrive.shared::cta.b64 _, [bar];\n"
       "mbarrier.test_wait.parity.shared::cta.b64 %p3, [bar], 1;\nselp.u32 %r1, 1, 0, %p3;",
       1},
      // The memory is free after it is invalidated.
      {"1",
       "mbarrier.inval.shared::cta.b64 [bar];\nst.shared.u64 [bar], 9;\n"
       "ld.shared.u32 %r1, [bar];",
       9},
      {"1",
       "mbarrier.inval.shared::cta.b64 [bar];\nmbarrier.init.shared::cta.b64 [bar], 2;\n"
       "mbarrier.arrive.shared::cta.b64 _, [bar];" +
           test,
       0},
  };
  for (const Case& each : cases) {
    check_threads(
        with_mbarrier(each.arrivals, "mov.u32 %r1, 0;\n@!%p1 bra DONE;\n" + each.body + "\nDONE:"),
        2, [&](unsigned i) { return i == 0 ? each.expected : 0; });
  }
}

TEST_CASE("an mbarrier counts cp.async copies") {
  // The parameter is the source, too: it holds zeros, and its thread's number is added.
  const std::string copy =
      "mov.u32 %r2, smem;\nshl.b32 %r3, %r0, 3;\nadd.u32 %r4, %r2, %r3;\nld.param.u64 %rd1, "
      "[out];\n"
      "cvt.u64.u32 %rd2, %r3;\nadd.s64 %rd1, %rd1, %rd2;\n"
      "cp.async.ca.shared.global [%r4], [%rd1], 8;\n";
  const std::string read =
      kWait +
      "xor.b32 %r5, %r3, 256;\nadd.u32 %r6, %r2, %r5;\nld.shared.u32 %r1, [%r6];\n"
      "bar.sync 0;\nadd.u32 %r1, %r1, %r0;";
  check_threads(
      with_mbarrier("64", copy + "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n" + read),
      64, [](unsigned i) { return i; });
  check_threads(with_mbarrier("64", copy +
                                        "cp.async.mbarrier.arrive.shared::cta.b64 [bar];\n"
                                        "mbarrier.arrive.shared::cta.b64 _, [bar];\n" +
                                        read),
                64, [](unsigned i) { return i; });
}

TEST_CASE("a copy that arrives too often is a fault even if nobody waits for it") {
  const TestKernel kernel = thread_kernel(
      with_mbarrier("1",
                    "mov.u32 %r2, smem;\nld.param.u64 %rd1, [out];\n"
                    "mbarrier.init.shared::cta.b64 [bar+8], 1;\n"
                    "cp.async.ca.shared.global [%r2], [%rd1], 8;\n"
                    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n"
                    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n"
                    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar+8], 0;\n"
                    "@!%p2 bra WAIT;"));
  for (const Schedule& schedule : test_schedules()) {
    const OutRun run = run_out(kernel, 1, {.checks = Checks::all(), .schedule = schedule});
    INFO(schedule.seed);
    CHECK_THAT(run.report.text(),
               Catch::Matchers::ContainsSubstring("the mbarrier bar+0 in phase 1"));
  }
}

TEST_CASE("invalid mbarrier instructions are refused") {
  for (const char* instruction :
       {"mbarrier.init.global.b64 [bar], 1;", "mbarrier.init.shared.b64 [bar];",
        "mbarrier.arrive.shared.b64 [bar];", "mbarrier.arrive.acquire.shared.b64 _, [bar];",
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar];",
        "mbarrier.try_wait.shared.b64 %p1, [bar];",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 %rd1, [bar];",
        "mbarrier.test_wait.parity.shared.b64 %r1, [bar], 0;",
        "mbarrier.inval.shared.b64 [bar], 1;", "cp.async.mbarrier.arrive.shared.b32 [bar];",
        "mbarrier.pending_count.b64 %rd1, %rd1;"}) {
    INFO(instruction);
    CHECK_THAT(refusal_of(thread_kernel(instruction)), Catch::Matchers::ContainsSubstring("line "));
  }
}

}  // namespace
}  // namespace recto::ptx
