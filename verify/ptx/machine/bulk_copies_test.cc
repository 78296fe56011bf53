// Bulk copies and their tensor form, in one thread block and in clusters.

#include <array>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/ptx/arithmetic/shared_matrix.h"
#include "verify/ptx/arithmetic/tensor_map.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

const std::string kInit =
    "setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "ld.param.u64 %rd1, [in];\nmov.u32 %r2, smem;\n";
const std::string kWait =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";

// "in" holds 1024 numbers, i + 1, "back" as many zeros, and "map" is a tensor map.
struct Memory {
  alignas(64) std::array<std::uint32_t, 1024> in = {};
  alignas(64) std::array<std::uint32_t, 1024> back = {};
  TensorMapBytes map = {};
};

struct Run {
  std::vector<std::uint64_t> out;
  Memory memory = {};
};

Run run(const std::string& body, const LaunchShape& shape, const TensorMap* map,
        const Schedule& schedule) {
  Run run;
  for (std::size_t i = 0; i < run.memory.in.size(); ++i) {
    run.memory.in[i] = static_cast<std::uint32_t>(i + 1);
  }
  if (map != nullptr) {
    TensorMap placed = *map;
    const auto* const data = map->fill == TensorFill::kNan || map->global_address == 0
                                 ? run.memory.in.data()
                                 : run.memory.back.data();
    placed.global_address = reinterpret_cast<std::uint64_t>(data);
    run.memory.map = encode_tiled(placed).value();
  }
  TestKernel kernel = thread_kernel(body);
  kernel.parameters += ", .param .u64 in, .param .u64 back, .param .align 64 .b8 map[128]";
  run.out.resize(shape.grid.count() * shape.block.count());
  DeviceMemory memory;
  memory.add("out", run.out.data(), run.out.size() * 8);
  memory.add("in", run.memory.in.data(), sizeof(run.memory.in), BufferAccess::kReadOnly);
  memory.add("back", run.memory.back.data(), sizeof(run.memory.back));
  const LaunchReport report =
      LoadedKernel(kernel).run(shape,
                               Arguments()
                                   .add(run.out.data())
                                   .add(run.memory.in.data())
                                   .add(run.memory.back.data())
                                   .add(run.memory.map),
                               memory, {.checks = Checks::all(), .schedule = schedule});
  INFO(simt::schedule_policy_name(schedule.policy) << " " << schedule.seed << "\n" << body);
  CHECK(report.text() == "");
  return run;
}

TEST_CASE("bulk copies bring bytes to shared memory, and back") {
  const std::string body =
      kInit +
      "bar.sync 0;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;\n"
      "@%p1 cp.async.bulk.prefetch.L2.global [%rd1], 512;\n"
      "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 512, "
      "[bar];\n"
      "@%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[smem+512], [%rd1+1024], 512, [bar], 0;\n" +
      kWait +
      "shl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r2, %r3;\nld.shared.u32 %r1, [%r3+512];\n"
      "st.shared.u32 [%r3], %r1;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
      "ld.param.u64 %rd2, [back];\n"
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [smem], 128;\n"
      "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group.read 0;\nbar.sync 0;\n"
      "st.shared.u32 [%r3], 0;\n@%p1 cp.async.bulk.wait_group 0;";
  for (const Schedule& schedule : test_schedules()) {
    const Run result = run(body, {{}, {64, 1, 1}, 0}, nullptr, schedule);
    for (std::size_t i = 0; i < 64; ++i) {
      CHECK(result.out[i] == i + 257);
      CHECK(result.memory.back[i] == (i < 32 ? i + 257 : 0));
    }
  }
}

// A tensor of 20 rows and 16 columns of f32.
TensorMap small_map() {
  TensorMap map;
  map.element = TensorElement::kF32;
  map.rank = 2;
  map.sizes = {16, 20};
  map.strides = {0, 64};
  map.box = {16, 8};
  return map;
}

const std::string kMapAddress =
    "mov.b64 %rd3, map;\ncvta.param.u64 %rd4, %rd3;\n"
    "@%p1 prefetch.tensormap [%rd4];\n";

TEST_CASE("boxes of a tensor come swizzled, with their edges filled") {
  for (const bool is_swizzled : {false, true}) {
    for (const int row : {-3, 4, 15}) {
      TensorMap map = small_map();
      map.fill = TensorFill::kNan;
      if (is_swizzled) map.swizzle = Swizzle::k64Bytes;
      const std::string body =
          kInit + kMapAddress +
          "bar.sync 0;\n"
          "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\nmov.u32 %r5, 1;\n"
          "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
          "[smem], [%rd4, {%r5, " +
          std::to_string(row) + "}], [bar];\n" + kWait +
          "shl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r2, %r3;\nld.shared.u32 %r1, [%r3];";
      for (const std::uint64_t seed : {0U, 1U}) {
        const Run result = run(body, {{}, {128, 1, 1}, 0}, &map, {SchedulePolicy::kInOrder, seed});
        for (std::uint32_t i = 0; i < 128; ++i) {
          const int at_row = row + static_cast<int>(i / 16);
          const std::uint32_t column = i % 16 + 1;
          const bool is_inside = at_row >= 0 && at_row < 20 && column < 16;
          const std::uint64_t expected =
              is_inside ? static_cast<std::uint32_t>(at_row) * 16 + column + 1 : 0x7fffffffU;
          CHECK(result.out[swizzled(4 * i, map.swizzle) / 4] == expected);
        }
      }
    }
  }
}

TEST_CASE("boxes of a tensor are stored up to its edges") {
  TensorMap map = small_map();
  map.global_address = 16;  // stands for the second buffer
  const std::string body =
      kInit + kMapAddress +
      "shl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r2, %r3;\nadd.u32 %r4, %r0, 5;\n"
      "st.shared.u32 [%r3], %r4;\nfence.proxy.async;\nbar.sync 0;\n"
      "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {-2, 14}], [smem];\n"
      "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\nmov.u32 %r1, 0;";
  for (const std::uint64_t seed : {0U, 1U}) {
    const Run result = run(body, {{}, {128, 1, 1}, 0}, &map, {SchedulePolicy::kInOrder, seed});
    for (std::uint32_t i = 0; i < 1024; ++i) {
      const std::uint32_t row = i / 16;
      const std::uint32_t column = i % 16;
      const bool is_stored = row >= 14 && row < 20 && column < 14;
      CHECK(result.memory.back[i] == (is_stored ? (row - 14) * 16 + column + 2 + 5 : 0));
    }
  }
}

TEST_CASE("a copy to several thread blocks of a cluster reports to each of them") {
  const std::string body =
      kInit +
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;\n"
      "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;\n"
      "mov.u32 %r4, %cluster_ctarank;\nsetp.eq.and.u32 %p3, %r4, 1, %p1;\nmov.u16 %h1, 5;\n"
      "@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[smem], [%rd1+16], 256, [bar], %h1;\n"
      "and.b32 %r5, %r4, 1;\nsetp.eq.u32 %p4, %r5, 1;\nmov.u32 %r1, 0;\n@%p4 bra DONE;\n" +
      kWait +
      "shl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r2, %r3;\nld.shared.u32 %r1, [%r3];\nDONE:\n"
      "mov.u32 %r6, %ctaid.x;\nmul.lo.u32 %r6, %r6, 32;\nadd.u32 %r0, %r0, %r6;";
  // The mbarriers of thread blocks 1 and 3 expect bytes that never come, which is no fault.
  for (const Schedule& schedule : test_schedules()) {
    const Run result = run(body, {{4, 1, 1}, {32, 1, 1}, 0, {4, 1, 1}}, nullptr, schedule);
    for (std::size_t i = 0; i < 128; ++i) {
      CHECK(result.out[i] == (i / 32 % 2 == 0 ? i % 32 + 5 : 0));
    }
  }
}

TEST_CASE("a thread block copies to the shared memory of another") {
  const std::string body =
      kInit +
      "mov.u32 %r4, %cluster_ctarank;\nshl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r2, %r3;\n"
      "mad.lo.u32 %r5, %r4, 100, %r0;\nst.shared.u32 [%r3], %r5;\nfence.proxy.async;\n"
      "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "xor.b32 %r6, %r4, 1;\nmov.u32 %r7, bar;\nmapa.shared::cluster.u32 %r8, %r2, %r6;\n"
      "mapa.shared::cluster.u32 %r9, %r7, %r6;\n"
      "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
      "[%r8+1024], [smem], 128, [%r9];\n" +
      kWait +
      "ld.shared.u32 %r1, [%r3+1024];\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "mov.u32 %r6, %ctaid.x;\nmul.lo.u32 %r6, %r6, 32;\nadd.u32 %r0, %r0, %r6;";
  for (const Schedule& schedule : test_schedules()) {
    const Run result = run(body, {{2, 1, 1}, {32, 1, 1}, 0, {2, 1, 1}}, nullptr, schedule);
    for (std::size_t i = 0; i < 64; ++i) CHECK(result.out[i] == (1 - i / 32) * 100 + i % 32);
  }
}

TEST_CASE("invalid bulk copies are refused") {
  for (const char* instruction :
       {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 16;",
        "cp.async.bulk.shared::cluster.global.bulk_group [smem], [%rd1], 16;",
        "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 16, [bar];",
        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [smem], "
        "[%rd1, {1}], [bar];",
        "cp.async.bulk.tensor.6d.shared::cta.global.mbarrier::complete_tx::bytes [smem], "
        "[%rd1, {1, 2}], [bar];",
        "cp.async.bulk.tensor.2d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [smem], "
        "[%rd1, {1, 2}], [bar], {1};",
        "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [smem], [%rd1], "
        "[bar];",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [smem], 16;",
        "cp.async.bulk.wait_group %r1;", "cp.async.bulk.commit_group 1;"}) {
    INFO(instruction);
    CHECK_THAT(refusal_of(thread_kernel(instruction)), Catch::Matchers::ContainsSubstring("line "));
  }
}

}  // namespace
}  // namespace recto::ptx
