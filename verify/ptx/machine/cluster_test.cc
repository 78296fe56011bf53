// Clusters: their registers, their barrier, and shared memory of other thread blocks.

#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

// %r0 becomes the number of the thread in the grid of one dimension.
const std::string kGridThread =
    "mov.u32 %r20, %ctaid.x;\nmov.u32 %r21, %ntid.x;\nmad.lo.u32 %r0, %r20, %r21, %r0;\n";

LaunchReport run(const std::string& body, const LaunchShape& shape, const Schedule& schedule,
                 std::vector<std::uint64_t>* out) {
  out->assign(shape.grid.count() * shape.block.count(), 0);
  DeviceMemory memory;
  memory.add("out", out->data(), out->size() * 8);
  return LoadedKernel(thread_kernel(body))
      .run(shape, Arguments().add(out->data()), memory,
           {.checks = Checks::all(), .schedule = schedule});
}

TEST_CASE("threads read and write the shared memory of other thread blocks") {
  const std::string store =
      "mov.u32 %r2, smem;\nshl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r2, %r3;\n"
      "mov.u32 %r4, %cluster_ctarank;\nmad.lo.u32 %r5, %r4, 1000, %r0;\nst.shared.u32 [%r3], %r5;\n"
      "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
      "add.u32 %r6, %r4, 1;\nand.b32 %r6, %r6, 3;\n";
  const std::string end = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" + kGridThread;
  const std::string ways[] = {
      "mapa.shared::cluster.u32 %r7, %r3, %r6;\nld.shared::cluster.u32 %r1, [%r7];\n",
      "cvt.u64.u32 %rd1, %r3;\ncvta.shared.u64 %rd2, %rd1;\nmapa.u64 %rd3, %rd2, %r6;\n"
      "ld.u32 %r1, [%rd3];\nisspacep.shared::cluster %p3, %rd3;\n@!%p3 trap;\n",
      "mapa.shared::cluster.u32 %r7, smem, %r6;\nsub.u32 %r8, %r3, %r2;\nadd.u32 %r7, %r7, %r8;\n"
      "atom.shared::cluster.add.u32 %r1, [%r7], 1;\n",
      // One's own memory has an address of that kind, too.
      "mapa.shared::cluster.u32 %r7, %r3, %r4;\nld.shared.u32 %r9, [%r7];\n"
      "getctarank.shared::cluster.u32 %r10, %r7;\ngetctarank.shared::cluster.u32 %r11, %r3;\n"
      "setp.ne.u32 %p3, %r10, %r11;\n@%p3 trap;\nadd.u32 %r1, %r9, 1000;\n"
      "setp.eq.u32 %p4, %r4, 3;\n@%p4 sub.u32 %r1, %r1, 4000;\n"};
  for (const std::string& way : ways) {
    for (const Schedule& schedule : test_schedules()) {
      std::vector<std::uint64_t> out;
      const LaunchReport report =
          run(store + way + end, {{8, 1, 1}, {32, 1, 1}, 0, {4, 1, 1}}, schedule, &out);
      INFO(simt::schedule_policy_name(schedule.policy) << " " << schedule.seed << "\n" << way);
      REQUIRE(report.text() == "");
      for (std::size_t i = 0; i < out.size(); ++i) {
        REQUIRE(out[i] == (i / 32 + 1) % 4 * 1000 + i % 32);
      }
    }
  }
}

TEST_CASE("special registers say where a thread block is in its cluster") {
  const std::string pack =
      "mov.u32 %r20, %cluster_ctaid.x;\nmov.u32 %r21, %cluster_ctaid.y;\n"
      "mov.u32 %r22, %clusterid.x;\nmov.u32 %r23, %clusterid.y;\nmov.u32 %r24, %nclusterid.x;\n"
      "mov.u32 %r25, %cluster_nctarank;\nmov.u32 %r26, %cluster_ctarank;\n"
      "mov.u32 %r27, %cluster_nctaid.y;\nmov.pred %p1, %is_explicit_cluster;\n"
      "selp.u32 %r1, 1, 0, %p1;\n";
  std::string body = pack;
  for (int i = 20; i < 28; ++i) {
    body += "mad.lo.u32 %r1, %r1, 10, %r" + std::to_string(i) + ";\n";
  }
  body += "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\nmad.lo.u32 %r0, %r3, 6, %r2;";
  std::vector<std::uint64_t> out;
  CHECK(run(body, {{6, 4, 1}, {1, 1, 1}, 0, {3, 2, 1}}, {}, &out).text() == "");
  // Thread block (4, 3): (1, 1) in cluster (1, 1) of 2 in x; it has rank 4 of 6.
  CHECK(out[3 * 6 + 4] == 111112642);
  CHECK(run(body, {{6, 4, 1}, {1, 1, 1}, 0}, {}, &out).text() == "");
  CHECK(out[3 * 6 + 4] == 4 * 100000 + 3 * 10000 + 6 * 1000 + 100 + 1);
}

TEST_CASE("a kernel's own cluster size is used, and impossible clusters are refused") {
  std::string text = thread_kernel("mov.u32 %r1, %cluster_nctarank;\n" + kGridThread).text();
  text.replace(text.find(")\n{"), 2, ") .reqnctapercluster 2\n");
  std::vector<std::uint64_t> out(4);
  DeviceMemory memory;
  memory.add("out", out.data(), 32);
  const LoadedKernel kernel(text);
  const auto report = [&](std::uint32_t blocks, const Dim3& cluster) {
    return kernel.run({{blocks, 1, 1}, {1, 1, 1}, 0, cluster}, Arguments().add(out.data()), memory)
        .text();
  };
  CHECK(report(4, {}) == "");
  CHECK(out == std::vector<std::uint64_t>{2, 2, 2, 2});
  CHECK(report(4, {2, 1, 1}) == "");
  CHECK_THAT(report(4, {4, 1, 1}), Catch::Matchers::ContainsSubstring("the kernel has (2, 1, 1)"));
  CHECK_THAT(report(3, {}), Catch::Matchers::ContainsSubstring("divide the grid"));
  CHECK_THAT(refusal_of(thread_kernel("barrier.cluster.sync;")),
             Catch::Matchers::ContainsSubstring("barrier.cluster.sync"));
  CHECK_THAT(refusal_of(thread_kernel("setmaxnreg.inc.sync.aligned.u32 260;")),
             Catch::Matchers::ContainsSubstring("from 24 to 256"));
  CHECK(refusal_of(thread_kernel("setmaxnreg.dec.sync.aligned.u32 40;\nmov.u32 %r1, 0;\n"
                                 "griddepcontrol.wait;\ngriddepcontrol.launch_dependents;"))
            .empty());
  CHECK_THAT(refusal_of(thread_kernel("tcgen05.wait::ld.sync.aligned;")),
             Catch::Matchers::ContainsSubstring("tcgen05"));
}

}  // namespace
}  // namespace recto::ptx
