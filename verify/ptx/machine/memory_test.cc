// Memory: spaces, vectors, atomics, asynchronous copies, matrices, and what the system has.

#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

const std::string kRegisters =
    ".reg .pred %p<10>;\n.reg .b16 %h<10>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n"
    ".reg .f32 %f<10>;\nmov.u32 %r0, %tid.x;\nld.param.u64 %rd0, [out];\n"
    "mul.wide.u32 %rd1, %r0, 8;\nadd.s64 %rd1, %rd0, %rd1;\n";

TestKernel kernel_of(const std::string& body, const std::string& declarations = "") {
  TestKernel kernel;
  kernel.body = kRegisters + body + "\nret;";
  kernel.declarations = declarations;
  return kernel;
}

std::vector<std::uint64_t> checked_out(const TestKernel& kernel, unsigned threads) {
  const OutRun run = run_out(kernel, threads, {.checks = Checks::all()});
  CHECK(run.report.text().empty());
  return run.out;
}

TEST_CASE("elements are extended to their registers, and vectors are in order") {
  const auto out = checked_out(
      kernel_of("st.global.v4.u8 [%rd1], {0xff, 1, 2, 3};\nld.global.s8 %r1, [%rd1];\n"
                "ld.global.u8 %h1, [%rd1];\nld.global.v2.u16 {%h2, %h3}, [%rd1];\n"
                "cvt.u32.u16 %r2, %h1;\ncvt.u32.u16 %r3, %h3;\nadd.u32 %r4, %r1, %r2;\n"
                "add.u32 %r4, %r4, %r3;\ncvt.u64.u32 %rd2, %r4;\nst.global.u64 [%rd1], %rd2;"),
      3);
  CHECK(out[2] == 0xff - 1 + 0x0302);
}

TEST_CASE("generic addresses reach every space") {
  const auto out = checked_out(
      kernel_of(".local .align 8 .b8 depot[16];\n"
                "mov.u64 %rd2, smem;\ncvta.shared.u64 %rd3, %rd2;\n"
                "setp.eq.u32 %p1, %r0, 0;\n@%p1 st.u32 [%rd3+4], 5;\n"
                "mov.u64 %rd4, depot;\ncvta.local.u64 %rd5, %rd4;\nst.local.u32 [depot+8], %r0;\n"
                "selp.b64 %rd6, %rd3, %rd5, %p1;\nselp.b64 %rd7, 4, 8, %p1;\n"
                "add.s64 %rd6, %rd6, %rd7;\nld.u32 %r1, [%rd6];\n"
                "isspacep.shared %p2, %rd6;\nselp.u32 %r2, 100, 0, %p2;\nadd.u32 %r1, %r1, %r2;\n"
                "ld.const.u32 %r3, [table+4];\nadd.u32 %r1, %r1, %r3;\n"
                "ld.global.u64 %rd8, [pointer];\nld.u32 %r4, [%rd8];\nadd.u32 %r1, %r1, %r4;\n"
                "cvt.u64.u32 %rd9, %r1;\nst.global.u64 [%rd1], %rd9;",
                ".shared .align 8 .b8 smem[16];\n.const .align 4 .u32 table[2] = {1000, 2000};\n"
                ".global .align 8 .u64 pointer = generic(table);"),
      3);
  CHECK(out == std::vector<std::uint64_t>{3105, 3001, 3002});
}

TEST_CASE("a structure is passed by value, and read at addresses that lanes compute") {
  TestKernel kernel = kernel_of(
      "mov.b64 %rd2, s;\nand.b32 %r1, %r0, 3;\nmul.wide.u32 %rd3, %r1, 4;\n"
      "add.s64 %rd3, %rd2, %rd3;\nld.param.s32 %r2, [%rd3+4];\nld.param.s16 %r3, [s];\n"
      "add.s32 %r2, %r2, %r3;\ncvt.s64.s32 %rd4, %r2;\nst.global.u64 [%rd1], %rd4;");
  kernel.parameters += ", .param .align 4 .b8 s[20]";
  struct {
    std::int16_t first = -3;
    std::int32_t rest[4] = {10, 20, 30, 40};
  } structure;
  std::vector<std::uint64_t> out(4);
  DeviceMemory memory;
  memory.add("out", out.data(), 32);
  const LaunchReport report = LoadedKernel(kernel).run(
      {{}, {4, 1, 1}, 0}, Arguments().add(out.data()).add(structure), memory);
  CHECK(report.text().empty());
  CHECK(out == std::vector<std::uint64_t>{7, 17, 27, 37});
}

TEST_CASE("atomic operations combine, and return what was there") {
  const auto out = checked_out(
      kernel_of("setp.eq.u32 %p1, %r0, 0;\n@%p1 st.shared.u64 [words], 0;\n"
                "@%p1 st.shared.u64 [words+8], 0;\n@%p1 st.shared.u64 [words+16], 7;\nbar.sync 0;\n"
                "atom.shared.inc.u32 %r2, [words], 2;\nred.shared.max.s32 [words+4], %r0;\n"
                "atom.shared.add.f32 %f1, [words+8], 0f3F800000;\n"
                "atom.shared.add.noftz.f16x2 %r3, [words+12], 0x3c004000;\n"
                "atom.shared.cas.b64 %rd2, [words+16], 7, 9;\nbar.sync 0;\n"
                "ld.shared.u32 %r4, [words];\nld.shared.u32 %r5, [words+4];\n"
                "ld.shared.f32 %f2, [words+8];\ncvt.rzi.u32.f32 %r6, %f2;\n"
                "ld.shared.u32 %r7, [words+12];\nld.shared.u32 %r8, [words+16];\n"
                "mad.lo.u32 %r9, %r5, 100, %r4;\nmad.lo.u32 %r9, %r6, 10000, %r9;\n"
                "mad.lo.u32 %r9, %r8, 1000000, %r9;\nmov.b64 %rd3, {%r9, %r7};\n"
                "st.global.u64 [%rd1], %rd3;",
                ".shared .align 8 .b8 words[24];"),
      4);
  CHECK(out[3] == (std::uint64_t{0x44004800} << 32 | 9040301));
}

TEST_CASE(
    "modifiers stand in every order that compilers write, and policies of caches are ignored") {
  const auto out = checked_out(
      kernel_of("createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;\n"
                "st.global.L1::no_allocate.L2::cache_hint.v2.b32 [%rd1], {5, 1}, %rd5;\n"
                "atom.global.gpu.acq_rel.add.u32 %r1, [%rd1], 2;\n"
                "red.global.gpu.relaxed.add.u32 [%rd1], 3;\n"
                "atom.global.acq_rel.gpu.cas.b32 %r2, [%rd1], 10, 20;\n"
                "red.relaxed.sys.global.add.L2::cache_hint.u32 [%rd1], 4, %rd5;\n"
                "cp.async.ca.shared.global.L2::cache_hint [smem], [%rd1], 8, %rd5;\n"
                "cp.async.ca.shared.global.L2::cache_hint [smem+8], [%rd1], 8, 4, %rd5;\n"
                "cp.async.wait_all;\nld.shared.v2.u64 {%rd6, %rd7}, [smem];\n"
                "ld.global.relaxed.gpu.L2::cache_hint.u32 %r3, [%rd1], %rd5;\n"
                "shl.b32 %r4, %r1, 8;\nadd.u32 %r4, %r4, %r3;\ncvt.u64.u32 %rd2, %r4;\n"
                "add.s64 %rd2, %rd2, %rd6;\nadd.s64 %rd2, %rd2, %rd7;\n"
                "st.global.u64 [%rd1], %rd2;",
                ".shared .align 16 .b8 smem[16];"),
      1);
  CHECK(out[0] == (std::uint64_t{1} << 32) + 24 + 24 + 24 + (5 << 8));
}

TEST_CASE("atomic operations on vectors, and on subnormal numbers, which global memory flushes") {
  struct Row {
    std::string instruction;
    std::string word;  // 8 bytes of them, in shared and in global memory
    std::uint64_t shared = 0;
    std::uint64_t global = 0;  // the same if 0
  };
  const std::string one = "0f3F800000";
  const std::vector<Row> rows = {
      {"atom.SPACE.add.f32 %f1, [WORD], %f2;", "0x00000001", 0x0000000100000003,
       0x0000000100000000},
      {"red.SPACE.add.f32 [WORD], %f2;", "0x80000001", 0x8000000100000001, 0x8000000100000000},
      {"red.SPACE.add.noftz.f16x2 [WORD], %r5;", "0x00010001", 0x0001000100020003},
  };
  for (const Row& row : rows) {
    for (const bool is_global : {false, true}) {
      const std::string place = is_global ? "%rd1" : "word";
      std::string instruction = row.instruction;
      instruction.replace(instruction.find("SPACE"), 5, is_global ? "global" : "shared");
      instruction.replace(instruction.find("WORD"), 4, place);
      INFO(instruction);
      const std::string space = is_global ? "global" : "shared";
      const auto out =
          checked_out(kernel_of("mov.b32 %f2, 2;\nmov.b32 %r5, 0x00010002;\nmov.b32 %r6, " +
                                    row.word + ";\nst." + space + ".v2.b32 [" + place +
                                    "], {%r6, %r6};\n" + instruction + "\nld." + space +
                                    ".u64 %rd2, [" + place + "];\nst.global.u64 [%rd1], %rd2;",
                                ".shared .align 8 .b64 word;"),
                      1);
      CHECK(out[0] == (is_global && row.global != 0 ? row.global : row.shared));
    }
  }
  // Sums of vectors in global memory, which is zeros, and what was there before.
  const auto sums = [&](const std::string& instructions) {
    return checked_out(kernel_of("mov.b32 %f1, " + one + ";\n" + instructions), 2);
  };
  CHECK(sums("red.global.add.v2.f32 [%rd0], {%f1, %f1};\nred.global.add.v4.f32 [%rd0], "
             "{%f1, %f1, 0f00000000, %f1};") ==
        std::vector<std::uint64_t>{0x4080000040800000, 0x4000000000000000});
  CHECK(sums("mov.b16 %h1, 0x3c00;\nred.global.max.noftz.v4.f16 [%rd1], {%h1, 0, %h1, 0};\n"
             "atom.global.add.noftz.v4.f16 {%h2, %h3, %h4, %h5}, [%rd1], {%h1, %h1, 0, 0};\n"
             "mov.b64 %rd2, {%h2, %h3, %h4, %h5};\nsub.s64 %rd2, %rd2, 0x3c0000003c00;\n"
             "setp.ne.s64 %p1, %rd2, 0;\n@%p1 trap;")[1] == 0x00003c003c004000);
}

TEST_CASE("asynchronous copies fill shared memory, with zeros beyond their source") {
  // Under its rank in the cluster, too, the destination is the thread block's own memory.
  const auto destination = GENERATE(as<std::string>{}, "%r3", "%r5");
  TestKernel kernel = kernel_of(
      "mov.u32 %r1, smem;\nshl.b32 %r2, %r0, 4;\nadd.u32 %r3, %r1, %r2;\n"
      "mapa.shared::cluster.u32 %r5, %r3, 0;\n"
      "ld.param.u64 %rd2, [in];\ncvt.u64.u32 %rd3, %r2;\nadd.s64 %rd3, %rd2, %rd3;\n"
      "shl.b32 %r4, %r0, 2;\ncp.async.cg.shared.global [" +
          destination +
          "], [%rd3], 16, %r4;\n"
          "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\n"
          "ld.shared.v2.u64 {%rd4, %rd5}, [%r3];\nadd.s64 %rd6, %rd4, %rd5;\n"
          "st.global.u64 [%rd1], %rd6;",
      ".shared .align 16 .b8 smem[64];");
  kernel.parameters += ", .param .u64 in";
  std::vector<std::uint32_t> in = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  for (const Schedule& schedule : test_schedules()) {
    std::vector<std::uint64_t> out(4);
    DeviceMemory memory;
    memory.add("out", out.data(), 32);
    memory.add("in", in.data(), 64, BufferAccess::kReadOnly);
    const LaunchReport report =
        LoadedKernel(kernel).run({{}, {4, 1, 1}, 0}, Arguments().add(out.data()).add(in.data()),
                                 memory, {.checks = Checks::all(), .schedule = schedule});
    CHECK(report.text().empty());
    CHECK(out == std::vector<std::uint64_t>{0, 5, 9 + (10ULL << 32), 13 + 15 + (14ULL << 32)});
  }
}

TEST_CASE("matrices are loaded, multiplied and stored by a warp") {
  // a[row][k] = row + k, transposed on its way; the product with the unit matrix is itself.
  const auto out = checked_out(
      kernel_of("mov.u32 %r1, smem;\nshl.b32 %r2, %r0, 4;\nadd.u32 %r3, %r1, %r2;\n"
                "cvt.rn.f16.u32 %h1, %r0;\nmov.b32 %r4, {%h1, %h1};\n"
                "st.shared.v4.b32 [%r3], {%r4, %r4, %r4, %r4};\nbar.sync 0;\n"
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r3];\n"
                "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, [%r3];\n"
                "ldmatrix.sync.aligned.trans.x2.m8n8.shared.b16 {%r16, %r17}, [%r3];\n"
                "xor.b32 %r16, %r16, %r14;\n"
                "bar.sync 0;\n"
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, %r21, %r22, %r23}, "
                "{%r10, %r11, %r12, %r13}, {0x3c003c00, 0x3c003c00}, {0, 0, 0, 0};\n"
                "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r14, %r15};\nbar.sync 0;\n"
                "cvt.rzi.u32.f32 %r24, %r20;\nadd.u32 %r24, %r24, %r16;\n"
                "ld.shared.u16 %r25, [%r3];\n"
                "mov.b64 %rd2, {%r24, %r25};\nst.global.u64 [%rd1], %rd2;",
                ".shared .align 16 .b8 smem[512];"),
      32);
  // Row 0 of A is row 0 of matrices 0 and 2, whose elements are 0 and 16.
  CHECK((out[0] & 0xffffffff) == 8 * 0 + 8 * 16);
  CHECK((out[4] & 0xffffffff) == 8 * 1 + 8 * 17);
  // Transposed, element [0][0] is 0 in all rows of the first matrix; [0][r] is r.
  CHECK(out[0] >> 32 == 0);
  CHECK(out[31] >> 32 == 0x4fc0);  // untouched: 31
}

TEST_CASE("results of a product may be dropped, and its sums be numbers") {
  // Sums of rows, as FlashInfer takes them: each lane keeps one column of two rows. All of A is 1.
  const auto out =
      checked_out(kernel_of("mov.u32 %r1, 0x3c003c00;\n"
                            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r20, _, %r22, _}, "
                            "{%r1, %r1, %r1, %r1}, {%r1, %r1}, {0., 0., 1.5, 0.};\n"
                            "mov.b64 %rd2, {%r20, %r22};\nst.global.u64 [%rd1], %rd2;"),
                  32);
  for (const std::uint64_t row : out) CHECK(row == 0x418c000041800000);  // 16 and 17.5
}

TEST_CASE("printf prints, and a failed assertion is a finding") {
  const std::string declarations =
      ".extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);\n"
      ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
      ".param .b64 s);\n"
      ".global .align 1 .b8 format[16] = {37, 100, 32, 37, 46, 49, 102, 32, 37, 115, 10};\n"
      ".global .align 1 .b8 word[4] = {104, 105, 0};\n"
      // "%n d %d\n": a kind that writes memory.
      ".global .align 1 .b8 odd[16] = {37, 110, 32, 100, 32, 37, 100, 10};";
  const auto run_print = [&](const std::string& format) {
    const std::string begin =
        ".local .align 8 .b8 arguments[24];\nmov.u64 %rd2, arguments;\n"
        "cvta.local.u64 %rd2, %rd2;\nst.local.u32 [arguments], %r0;\n"
        "st.local.f64 [arguments+8], 0d3FF8000000000000;\n"
        "mov.u64 %rd3, word;\nst.local.u64 [arguments+16], %rd3;\nmov.u64 %rd4, ";
    const std::string end =
        ";\ncvta.global.u64 %rd4, %rd4;\n"
        "{ .param .b64 a;\n.param .b64 b;\n.param .b32 s;\nst.param.b64 [a], %rd4;\n"
        "st.param.b64 [b], %rd2;\ncall.uni (s), vprintf, (a, b);\n}";
    return run_out(kernel_of(begin + format + end, declarations), 2);
  };
  OutRun run = run_print("format");
  CHECK(run.report.text().empty());
  CHECK(run.report.printed == "0 1.5 hi\n1 1.5 hi\n");
  CHECK(run_print("odd").report.printed == "%n d 0\n%n d 1\n");
  run = run_out(
      kernel_of("mov.u64 %rd4, word;\n{ .param .b64 a;\n.param .b64 b;\n.param .b32 c;\n"
                ".param .b64 d;\n.param .b64 e;\nst.param.b64 [a], %rd4;\nst.param.b64 [b], %rd4;\n"
                "st.param.b32 [c], 12;\ncall.uni __assertfail, (a, b, c, d, e);\n}",
                declarations),
      2);
  CHECK_THAT(run.report.text(),
             Catch::Matchers::ContainsSubstring("fails assertion 'hi' at hi:12"));
}

TEST_CASE("counters count instructions, sectors and bank conflicts") {
  const OutRun run = run_out(kernel_of(".local .align 4 .b8 mine[4];\n"
                                       "mov.u32 %r1, smem;\nshl.b32 %r2, %r0, 7;\n"
                                       "add.u32 %r1, %r1, %r2;\nst.shared.u32 [%r1], %r0;\n"
                                       "st.global.u64 [%rd1], %rd0;\nst.local.u32 [mine], %r0;",
                                       ".shared .align 16 .b8 smem[4096];"),
                             32, {.counts = true});
  const Counters& counters = run.report.counters;
  CHECK(counters.bank_conflicts == 31);
  CHECK(counters.global_sectors >= 8);  // one more if the buffer begins inside a sector
  CHECK(counters.global_sectors <= 9);
  CHECK(counters.global_bytes == 256);
  CHECK(counters.by_action[static_cast<std::size_t>(Action::kStore)] == 3);
  CHECK(counters.instructions == 11);
}

}  // namespace
}  // namespace recto::ptx
