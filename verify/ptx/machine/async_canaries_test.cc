// Asynchronous copies, mbarriers, clusters and products of warpgroups with one fault each, found
// under every policy, and their right twins, which are silent.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/ptx/arithmetic/tensor_map.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

struct Canary {
  std::string name;
  Check check;
  std::string right;
  // A part of it, and what stands there in the wrong kernel.
  std::string part;
  std::string wrong_part;
  std::string text;  // a part of the finding
  std::uint32_t blocks = 1;
};

LaunchReport run(const Canary& canary, const std::string& body, const Schedule& schedule) {
  TestKernel kernel = thread_kernel(".loc 1 8 1\n" + body +
                                    "\nmov.u32 %r1, 0;\n.loc 1 9 1\n"
                                    "mov.u32 %r20, %ctaid.x;\nmad.lo.u32 %r0, %r20, 128, %r0;");
  kernel.parameters += ", .param .u64 in, .param .u64 fresh, .param .align 64 .b8 map[128]";
  kernel.declarations += "\n.file 1 \"canary.cu\"";
  std::vector<std::uint64_t> out(128 * canary.blocks);
  alignas(16) const std::array<std::uint32_t, 256> in = {1};
  alignas(16) std::array<std::uint32_t, 256> fresh = {};
  TensorMap map;
  map.element = TensorElement::kF32;
  map.rank = 2;
  map.global_address = reinterpret_cast<std::uint64_t>(in.data());
  map.sizes = {16, 16};
  map.strides = {0, 64};
  map.box = {16, 8};
  DeviceMemory memory;
  memory.add("out", out.data(), out.size() * 8);
  memory.add("in", in.data(), sizeof(in), BufferAccess::kReadOnly);
  memory.add("fresh", fresh.data(), sizeof(fresh), BufferAccess::kWriteFirst);
  return LoadedKernel(kernel).run(
      {{canary.blocks, 1, 1}, {128, 1, 1}, 0, {canary.blocks, 1, 1}},
      Arguments().add(out.data()).add(in.data()).add(fresh.data()).add(encode_tiled(map).value()),
      memory, {.checks = Checks::all(), .schedule = schedule, .steps_max = 1'000'000});
}

const std::string kInit =
    "setp.eq.u32 %p1, %r0, 0;\nmov.u32 %r9, smem;\nshl.b32 %r8, %r0, 2;\nadd.u32 %r9, %r9, %r8;\n"
    "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [fresh];\nld.param.u64 %rd8, [out];\n"
    "@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n";
const std::string kExpect = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n";
const std::string kCopy =
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 512, "
    "[bar];\n";
const std::string kWait =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";
const std::string kRead = "ld.shared.u32 %r1, [%r9];\n";
const std::string kLoad = kInit + kExpect + kCopy + kWait + kRead;

const std::string kStore =
    kInit +
    "st.shared.u32 [%r9], %r0;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
    "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [smem], 512;\n"
    "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n"
    "st.shared.u32 [%r9], 1;\n";

const std::string kTensor =
    kInit + kExpect +
    "mov.b64 %rd3, map;\ncvta.param.u64 %rd3, %rd3;\n"
    "@%p1 cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [smem], "
    "[%rd3, {0, 0}], [bar];\n" +
    kWait + kRead;

std::vector<Canary> copy_canaries() {
  return {
      {"a bulk copy that is read before its wait", Check::kUnfinishedCopy, kLoad, kWait, "",
       "copies to it until it is waited for"},
      {"a wait that may have been in vain", Check::kUnfinishedCopy, kLoad, "@!%p2 bra WAIT;", "",
       "unfinished copy"},
      {"bytes without an expect_tx", Check::kUnfinishedCopy, kLoad, kExpect,
       "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar];\n", "unfinished copy"},
      {"a copy of a number of bytes that is no multiple of 16", Check::kMisaligned, kLoad,
       "[%rd1], 512,", "[%rd1], 500,", "copies 500 bytes"},
      {"a copy to an address that is no multiple of 16", Check::kMisaligned, kLoad,
       "[smem], [%rd1], 512", "[smem+8], [%rd1], 512", "no multiple of 16"},
      {"a copy from behind a buffer", Check::kOutOfBounds, kLoad, "[%rd1], 512", "[%rd1+768], 512",
       "copies 512 bytes of in+768"},
      {"a copy to behind shared memory", Check::kOutOfBounds, kLoad, "[smem], [%rd1]",
       "[smem+4096], [%rd1]", "copies to 512 bytes"},
      {"a store that the copy may not see", Check::kProxyFence, kStore,
       "fence.proxy.async.shared::cta;\n", "", "with no fence.proxy.async after it"},
      {"a source that is overwritten too early", Check::kUnfinishedCopy, kStore,
       "@%p1 cp.async.bulk.wait_group.read 0;\n", "", "reads it until it is waited for"},
      {"an exit before the source is read", Check::kUnfinishedCopy, kStore,
       "@%p1 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\nst.shared.u32 [%r9], 1;\n", "",
       "exits before its copy has read shared memory"},
      {"an exit before a copy to its memory has ended", Check::kUnfinishedCopy, kLoad,
       kWait + kRead, "", "before a copy to its shared memory has ended"},
      {"a tensor map that is none", Check::kTensorMap, kTensor, "cvta.param.u64 %rd3, %rd3;",
       "mov.u64 %rd3, %rd1;", "tensor map"},
      {"coordinates of another rank", Check::kTensorMap, kTensor,
       "tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [smem], [%rd3, {0, 0}]",
       "tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [smem], [%rd3, {0}]",
       "1 coordinates for a tensor of rank 2"},
      {"a box at an address that is no multiple of 128", Check::kMisaligned, kTensor,
       "[smem], [%rd3", "[smem+64], [%rd3", "no multiple of 128"},
  };
}

std::vector<Canary> mbarrier_canaries() {
  const std::string once = "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar];\n";
  const std::string release =
      "setp.lt.u32 %p3, %r0, 32;\n@!%p3 bra OTHERS;\nst.shared.u32 [%r9], 5;\nbar.warp.sync -1;\n" +
      once + "OTHERS:\n" + kWait +
      "and.b32 %r7, %r8, 127;\nmov.u32 %r6, smem;\n"
      "add.u32 %r6, %r6, %r7;\nld.shared.u32 %r1, [%r6];\n";
  std::string fenced = release;
  fenced.replace(fenced.find(once), once.size(),
                 "fence.acq_rel.cta;\n"
                 "@%p1 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];\n");
  return {
      {"an mbarrier that is not initialised", Check::kMbarrier, kLoad,
       "@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\n", "", "finds none at bar+0"},
      {"an mbarrier in global memory", Check::kMbarrier, kLoad,
       "mbarrier.init.shared::cta.b64 [bar], 1;", "mbarrier.init.b64 [%rd8], 1;",
       "outside of its own shared memory"},
      {"an mbarrier that is initialised twice", Check::kMbarrier, kLoad, "[bar], 1;\nbar.sync 0;\n",
       "[bar], 1;\n@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n",
       "mbarrier that was not invalidated"},
      {"an mbarrier of no arrivals", Check::kMbarrier, kLoad, "[bar], 1;\nbar.sync 0;\n",
       "[bar], 0;\nbar.sync 0;\n", "there are 1 to 1048575"},
      {"more arrivals than are missing", Check::kMbarrier, kInit + once + kWait, once,
       "@%p1 mbarrier.arrive.shared::cta.b64 _, [bar], 2;\n", "2 times where 1 arrivals"},
      {"an arrival before anybody has seen the last phase's end", Check::kMbarrier,
       kInit + "@!%p1 bra END;\n" + once + kWait + "END:\n", once, once + once,
       "before anybody has seen"},
      {"an arrival that never comes", Check::kDeadlock, kInit + once + kWait, once, "",
       "waits for ever at the mbarrier bar+0, in phase 0, with 1 of 1 arrivals"},
      {"bytes that never come", Check::kDeadlock, kLoad, kCopy, "", "and 512 bytes missing"},
      {"more bytes than are expected", Check::kDeadlock, kLoad, "_, [bar], 512;", "_, [bar], 256;",
       "256 bytes more than expected"},
      {"a store over an mbarrier", Check::kMbarrier,
       kLoad + "bar.sync 0;\n@%p1 "
               "mbarrier.inval.shared::cta.b64 [bar];\n@%p1 st.shared.u64 [bar], 0;\n",
       "@%p1 mbarrier.inval.shared::cta.b64 [bar];\n", "", "that was not invalidated"},
      {"a lane that arrives for its warp", Check::kRace, kInit + release, "bar.warp.sync -1;\n", "",
       "reads 4 bytes of smem+"},
      {"an arrival that orders nothing", Check::kRace, kInit + release, "mbarrier.arrive.shared",
       "mbarrier.arrive.relaxed.cta.shared", "smem+"},
      {"a relaxed arrival that follows no fence", Check::kRace, kInit + fenced,
       "fence.acq_rel.cta;\n", "", "smem+"},
      {"a wait for a phase that is no parity", Check::kMbarrier, kInit + once + kWait,
       "[bar], 0;\n@!", "[bar], 2;\n@!", "which is 0 or 1"},
      {"bytes beyond what an mbarrier counts", Check::kMbarrier,
       kInit + "@%p1 mbarrier.expect_tx.shared::cta.b64 [bar], 1048575;\n", "1048575", "1048576",
       "beyond the 1048575 bytes"},
  };
}

std::vector<Canary> cluster_canaries() {
  const std::string sync = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
  const std::string remote =
      "setp.eq.u32 %p1, %r0, 0;\nmov.u32 %r9, smem;\nshl.b32 %r8, %r0, 2;\n"
      "add.u32 %r9, %r9, %r8;\nst.shared.u32 [%r9], %r0;\n" +
      sync +
      "mov.u32 %r3, %cluster_ctarank;\nxor.b32 %r4, %r3, 1;\n"
      "mapa.shared::cluster.u32 %r5, %r9, %r4;\nld.shared::cluster.u32 %r1, [%r5];\n";
  const std::string last = "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n";
  return {
      {"a read of another thread block's memory with no barrier", Check::kGridRace, remote + last,
       sync, "", "smem+", 2},
      {"a write that overtakes another thread block's reads", Check::kGridRace,
       remote + sync + "st.shared.u32 [%r9], 7;\n" + last, "%r1, [%r5];\n" + sync, "%r1, [%r5];\n",
       "of block (", 2},
      {"a thread block that exits before others are done", Check::kOutOfBounds, remote + last, last,
       "setp.eq.u32 %p3, %r3, 0;\n@%p3 bra DONE;\nSPIN: ld.shared::cluster.u32 %r6, [%r5];\n"
       "setp.ne.u32 %p4, %r6, 12345;\n@%p4 bra SPIN;\nDONE:\n",
       "a thread block that has exited, rank 0", 2},
      {"a rank that the cluster does not have", Check::kOutOfBounds, remote + last,
       "xor.b32 %r4, %r3, 1;", "xor.b32 %r4, %r3, 2;", "no thread block of its cluster, rank", 2},
      {"an instruction for its own memory with another's address", Check::kOutOfBounds,
       remote + last, "ld.shared::cluster.u32 %r1", "ld.shared.u32 %r1", "another thread block", 2},
      {"threads that miss the cluster's barrier", Check::kBarrierDivergence, remote + last, last,
       "@%p1 bra SKIP;\n" + last + "SKIP: bar.sync 0;\n",
       "waits at the cluster's barrier, which 2 threads never reach", 2},
      {"two arrivals at the cluster's barrier", Check::kBarrierDivergence, remote + last,
       "barrier.cluster.arrive.relaxed;", "barrier.cluster.arrive;\nbarrier.cluster.arrive;",
       "again before it is complete", 2},
      {"a wait at the cluster's barrier without an arrival", Check::kBarrierDivergence,
       remote + last, "barrier.cluster.arrive.relaxed;\n", "", "has not arrived there", 2},
  };
}

// A of 64 x 16 and B of 8 x 16 zeros of f16, and their descriptors in %rd3 and %rd4.
const std::string kProduct =
    "mov.u32 %r9, smem;\nmad.lo.u32 %r8, %r0, 32, %r9;\nst.shared.v2.u64 [%r8], {0, 0};\n"
    "st.shared.v2.u64 [%r8+16], {0, 0};\nfence.proxy.async;\nbar.sync 0;\n"
    "shr.u32 %r7, %r9, 4;\ncvt.u64.u32 %rd3, %r7;\nor.b64 %rd3, %rd3, 0x1000080000;\n"
    "add.s64 %rd4, %rd3, 128;\nmov.f32 %f1, 0f3F800000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\n"
    "mov.f32 %f4, %f1;\nmov.u32 %r11, 0;\nmov.u32 %r12, 0;\nmov.u32 %r13, 0;\nmov.u32 %r14, 0;\n"
    "setp.eq.u32 %p5, %r0, %r0;\nwgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd3, %rd4, %p5, 1, "
    "1, "
    "0, 0;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r11, %r12, %r13, "
    "%r14}, %rd4, 1, 1, 1, 0;\n"
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
    "add.f32 %f5, %f1, %f2;\nbar.sync 0;\nst.shared.u64 [%r8], 1;\nEND:\n";

std::vector<Canary> product_canaries() {
  const std::string wait = "wgmma.wait_group.sync.aligned 0;\n";
  const std::string early = "add.f32 %f6, %f1, %f3;\n";
  return {
      {"a product without a fence", Check::kWarpgroup, kProduct, "wgmma.fence.sync.aligned;\n", "",
       "follows no wgmma.fence"},
      {"sums that are read before the wait", Check::kWarpgroup, kProduct, wait, early + wait,
       "touches a register of a product that is not waited for"},
      {"a wait that leaves the product's group", Check::kWarpgroup, kProduct, wait,
       "wgmma.wait_group.sync.aligned 1;\n" + early + wait, "the product begins"},
      {"a factor that is written before the wait", Check::kWarpgroup, kProduct, wait,
       "mov.u32 %r12, 1;\n" + wait, "touches a register"},
      {"sums that are written after the fence", Check::kWarpgroup, kProduct,
       "wgmma.fence.sync.aligned;\n", "wgmma.fence.sync.aligned;\nmov.f32 %f3, %f1;\n",
       "touched since the last wgmma.fence"},
      {"stores that the product may not see", Check::kProxyFence, kProduct, "fence.proxy.async;\n",
       "", "multiplies 16 bytes of smem+"},
      {"a factor that is overwritten before the wait", Check::kUnfinishedCopy, kProduct,
       wait + "add.f32 %f5, %f1, %f2;\nbar.sync 0;\nst.shared.u64 [%r8], 1;\n",
       "st.shared.u64 [%r8], 1;\n" + wait, "reads it until it is waited for"},
      {"an exit before a product has ended", Check::kUnfinishedCopy, kProduct, wait, "exit;\n",
       "exits before its product has ended"},
      {"descriptors that differ between warps", Check::kWarpgroup, kProduct,
       "add.s64 %rd4, %rd3, 128;\n",
       "add.s64 %rd4, %rd3, 128;\nsetp.lt.u32 %p6, %r0, 64;\n@%p6 add.s64 %rd4, %rd4, 16;\n",
       "has other matrix descriptors"},
      {"descriptors that differ between lanes", Check::kWarpgroup, kProduct,
       "add.s64 %rd4, %rd3, 128;\n",
       "add.s64 %rd4, %rd3, 128;\nsetp.lt.u32 %p6, %r0, 4;\n@%p6 add.s64 %rd4, %rd4, 16;\n",
       "differ between lanes"},
      {"a warp that leaves its warpgroup alone", Check::kWarpgroup, kProduct,
       "wgmma.fence.sync.aligned;\n",
       "setp.ge.u32 %p6, %r0, 96;\n@%p6 bra END;\nwgmma.fence.sync.aligned;\n", ""},
      {"a factor beyond shared memory", Check::kOutOfBounds, kProduct, "add.s64 %rd4, %rd3, 128;",
       "add.s64 %rd4, %rd3, 1024;", "multiplies 16 bytes of shared memory"},
  };
}

TEST_CASE("an mbarrier that is used before its initialisation is visible is a race") {
  std::string body = kLoad;
  body.erase(body.find("bar.sync 0;\n"), 12);
  const LaunchReport report = run({}, body, {});
  REQUIRE(!report.passed());
  CHECK(report.findings[0].check == Check::kRace);
  CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring("needs the mbarrier at bar+0"));
}

TEST_CASE("each asynchronous fault is found by its check, and the right kernel has no finding") {
  std::vector<Canary> canaries = copy_canaries();
  for (const auto& more : {mbarrier_canaries(), cluster_canaries(), product_canaries()}) {
    canaries.insert(canaries.end(), more.begin(), more.end());
  }
  for (const Canary& canary : canaries) {
    std::string wrong = canary.right;
    const std::size_t at = wrong.find(canary.part);
    REQUIRE(at != std::string::npos);
    wrong.replace(at, canary.part.size(), canary.wrong_part);
    std::size_t found = 0;
    for (const Schedule& schedule : test_schedules()) {
      INFO(canary.name << ": " << simt::schedule_policy_name(schedule.policy) << " "
                       << schedule.seed);
      CHECK(run(canary, canary.right, schedule).text() == "");
      const LaunchReport report = run(canary, wrong, schedule);
      // A wait whose result is ignored fails in some schedules only.
      if (canary.part == "@!%p2 bra WAIT;" && report.passed()) continue;
      ++found;
      REQUIRE(!report.passed());
      INFO(report.text());
      CHECK(std::any_of(report.findings.begin(), report.findings.end(),
                        [&](const Finding& each) { return each.check == canary.check; }));
      CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring(canary.text));
      CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring("canary.cu:"));
    }
    INFO(canary.name);
    CHECK(found > 0);
  }
}

}  // namespace
}  // namespace recto::ptx
