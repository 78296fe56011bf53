// Instructions in which lanes or warps meet: barriers, shuffles, votes and their kin.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

constexpr std::uint64_t kAll = 0xffffffff;

TEST_CASE("shuffles take values from other lanes of a segment") {
  check_threads("shfl.sync.bfly.b32 %r1, %r0, 5, 31, -1;", 32, [](unsigned i) { return i ^ 5; });
  check_threads("shfl.sync.down.b32 %r1, %r0, 3, 31, -1;", 32,
                [](unsigned i) { return i + 3 < 32 ? i + 3 : i; });
  check_threads("shfl.sync.up.b32 %r1, %r0, 3, 0, -1;", 32,
                [](unsigned i) { return i >= 3 ? i - 3 : i; });
  check_threads("shfl.sync.idx.b32 %r1, %r0, 2, 0x181f, -1;", 32,
                [](unsigned i) { return i / 8 * 8 + 2; });
  check_threads("shfl.sync.down.b32 %r2|%p1, %r0, 3, 31, -1;\nselp.u32 %r1, 1, 0, %p1;", 32,
                [](unsigned i) { return i + 3 < 32 ? 1U : 0U; });
}

TEST_CASE("halves of a warp may meet apart, in masks of their own") {
  check_threads(
      "setp.lt.u32 %p1, %r0, 16;\n@%p1 bra LOW;\n"
      "shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff0000;\nadd.u32 %r1, %r1, 100;\nbra D;\n"
      "LOW: shfl.sync.bfly.b32 %r1, %r0, 2, 31, 0xffff;\nD:",
      32, [](unsigned i) { return i < 16 ? i ^ 2 : (i ^ 1) + 100; });
  // In one instruction, too.
  check_threads(
      "setp.lt.u32 %p1, %r0, 16;\nselp.b32 %r2, 0xffff, 0xffff0000, %p1;\n"
      "redux.sync.add.u32 %r1, %r0, %r2;",
      32, [](unsigned i) { return i < 16 ? 120U : 376U; });
}

TEST_CASE("votes, matches, reductions and elections combine the lanes of their mask") {
  check_threads("setp.gt.u32 %p1, %r0, 3;\nvote.sync.ballot.b32 %r1, %p1, -1;", 32,
                [](unsigned) { return kAll & ~15U; });
  check_threads(
      "setp.gt.u32 %p1, %r0, 3;\nvote.sync.any.pred %p2, %p1, -1;\n"
      "vote.sync.all.pred %p3, %p1, -1;\nvote.sync.uni.pred %p4, !%p1, -1;\n"
      "selp.u32 %r1, 1, 0, %p2;\nselp.u32 %r2, 2, 0, %p3;\nselp.u32 %r3, 4, 0, %p4;\n"
      "or.b32 %r1, %r1, %r2;\nor.b32 %r1, %r1, %r3;",
      32, [](unsigned) { return 1U; });
  check_threads("and.b32 %r2, %r0, 1;\nmatch.any.sync.b32 %r1, %r2, -1;", 32,
                [](unsigned i) { return i % 2 == 0 ? 0x55555555U : 0xaaaaaaaaU; });
  check_threads("match.all.sync.b32 %r1|%p1, 7, -1;\n@!%p1 mov.u32 %r1, 0;", 32,
                [](unsigned) { return kAll; });
  check_threads("sub.s32 %r2, %r0, 9;\nredux.sync.min.s32 %r3, %r2, -1;\nadd.s32 %r1, %r3, 10;", 32,
                [](unsigned) { return 1U; });
  check_threads("elect.sync %r2|%p1, -1;\nselp.u32 %r1, 1, 0, %p1;", 32,
                [](unsigned i) { return i == 0 ? 1U : 0U; });
}

TEST_CASE("reductions of a warp, by operation") {
  using Fold = std::function<std::uint32_t(std::uint32_t, std::uint32_t)>;
  const auto is_less = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
  };
  const std::pair<std::string, Fold> rows[] = {
      {"add.u32", std::plus<>()},
      {"and.b32", std::bit_and<>()},
      {"or.b32", std::bit_or<>()},
      {"xor.b32", std::bit_xor<>()},
      {"min.u32", [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); }},
      {"max.u32", [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); }},
      {"min.s32", [&](std::uint32_t a, std::uint32_t b) { return is_less(a, b) ? a : b; }},
      {"max.s32", [&](std::uint32_t a, std::uint32_t b) { return is_less(a, b) ? b : a; }},
  };
  const auto value = [](std::uint32_t i) { return (i * i + 3) * 0x10408005 | 8; };
  for (const auto& [operation, fold] : rows) {
    std::uint32_t expected = value(0);
    for (std::uint32_t i = 1; i < 32; ++i) expected = fold(expected, value(i));
    check_threads(
        "mad.lo.u32 %r2, %r0, %r0, 3;\nmul.lo.u32 %r2, %r2, 0x10408005;\n"
        "or.b32 %r2, %r2, 8;\nredux.sync." +
            operation + " %r1, %r2, -1;",
        32, [&](unsigned) { return expected; });
  }
}

TEST_CASE("lanes that came apart elect a leader each") {
  check_threads(
      "setp.lt.u32 %p1, %r0, 7;\n@%p1 bra LOW;\nelect.sync %r2|%p2, 0xffffff80;\nbra D;\n"
      "LOW: elect.sync %r2|%p2, 0x7f;\nD: selp.u32 %r1, 100, 0, %p2;\nadd.u32 %r1, %r1, %r2;",
      32, [](unsigned i) { return (i < 7 ? 0U : 7U) + (i == 0 || i == 7 ? 100U : 0U); });
}

TEST_CASE("matrices are stored, and transposed on their way") {
  // Element [row][column] of matrix m is 64 m + 8 row + column.
  for (const unsigned count : {1U, 2U, 4U}) {
    for (const bool is_transposed : {false, true}) {
      std::string stored = "%r10";
      std::string loaded = "%r20";
      for (unsigned m = 1; m < count; ++m) {
        stored += ", %r1" + std::to_string(m);
        loaded += ", %r2" + std::to_string(m);
      }
      const std::string shape = ".sync.aligned.m8n8.x" + std::to_string(count);
      check_threads(
          "mov.u32 %r9, smem;\nmad.lo.u32 %r4, %r0, 16, %r9;\nshl.b32 %r2, %r0, 1;\n"
          "mad.lo.u32 %r10, %r2, 65537, 65536;\nadd.u32 %r11, %r10, 0x400040;\n"
          "add.u32 %r12, %r11, 0x400040;\nadd.u32 %r13, %r12, 0x400040;\nstmatrix" +
              shape + (is_transposed ? ".trans" : "") + ".shared.b16 [%r4], {" + stored +
              "};\nbar.warp.sync -1;\nldmatrix" + shape + ".shared.b16 {" + loaded +
              "}, [%r4];\nmov.u32 %r1, %r2" + std::to_string(count - 1) + ";",
          32, [&](unsigned i) {
            const unsigned first = 64 * (count - 1);
            const unsigned low = is_transposed ? 16 * (i % 4) + i / 4 : 2 * i;
            const unsigned high = low + (is_transposed ? 8 : 1);
            return first + low + ((first + high) << 16);
          });
    }
  }
}

TEST_CASE("products of every type of factor") {
  struct Row {
    std::string shape;
    std::string types;
    std::string one;  // in all elements of a register
    std::string two;
    unsigned a_registers = 4;
    unsigned b_registers = 2;
    unsigned depth = 0;
  };
  const Row rows[] = {
      {"m16n8k8", "f32.f16.f16.f32", "0x3c003c00", "0x40004000", 2, 1, 8},
      {"m16n8k16", "f32.f16.f16.f32", "0x3c003c00", "0x40004000", 4, 2, 16},
      {"m16n8k8", "f32.bf16.bf16.f32", "0x3f803f80", "0x40004000", 2, 1, 8},
      {"m16n8k16", "f32.bf16.bf16.f32", "0x3f803f80", "0x40004000", 4, 2, 16},
      {"m16n8k4", "f32.tf32.tf32.f32", "0x3f800000", "0x40000000", 2, 1, 4},
      {"m16n8k8", "f32.tf32.tf32.f32", "0x3f800000", "0x40000000", 4, 2, 8},
      {"m16n8k32", "f32.e4m3.e4m3.f32", "0x38383838", "0x40404040", 4, 2, 32},
      {"m16n8k32", "f32.e4m3.e5m2.f32", "0x38383838", "0x40404040", 4, 2, 32},
      {"m16n8k32", "f32.e5m2.e5m2.f32", "0x3c3c3c3c", "0x40404040", 4, 2, 32},
  };
  const auto list = [](const std::string& value, unsigned count) {
    std::string text = value;
    for (unsigned i = 1; i < count; ++i) text += ", " + value;
    return "{" + text + "}";
  };
  for (const Row& row : rows) {
    check_threads("mov.b32 %r2, " + row.one + ";\nmov.b32 %r3, " + row.two +
                      ";\nmov.f32 %f1, 0f3F800000;\nmma.sync.aligned." + row.shape + ".row.col." +
                      row.types + " {%f2, %f3, %f4, %f5}, " + list("%r2", row.a_registers) + ", " +
                      list("%r3", row.b_registers) +
                      ", {%f1, %f1, %f1, %f1};\nadd.f32 %f2, %f2, %f5;\n"
                      "cvt.rzi.u32.f32 %r1, %f2;",
                  32, [&](unsigned) { return 2 * (2 * row.depth + 1); });
  }
}

TEST_CASE("numbers of registers and dependent launches change no result") {
  check_threads(
      "griddepcontrol.wait;\nsetmaxnreg.dec.sync.aligned.u32 40;\nadd.u32 %r1, %r0, 7;\n"
      "setmaxnreg.inc.sync.aligned.u32 232;\ngriddepcontrol.launch_dependents;",
      128, [](unsigned i) { return i + 7; });
}

TEST_CASE("lanes wait for the others of their mask") {
  check_threads(
      "setp.lt.u32 %p1, %r0, 7;\nmov.u32 %r1, 1;\n@%p1 bra LATE;\nbra.uni MEET;\n"
      "LATE: mov.u32 %r1, 2;\nMEET: redux.sync.add.u32 %r1, %r1, -1;",
      32, [](unsigned) { return 39U; });
}

TEST_CASE("block barriers order shared memory, and reduce predicates") {
  check_threads(
      "mov.u32 %r2, smem;\nshl.b32 %r3, %r0, 2;\nadd.u32 %r4, %r2, %r3;\n"
      "st.shared.u32 [%r4], %r0;\nbar.sync 0;\nsub.u32 %r5, 95, %r0;\n"
      "shl.b32 %r5, %r5, 2;\nadd.u32 %r5, %r2, %r5;\nld.shared.u32 %r1, [%r5];",
      96, [](unsigned i) { return 95 - i; });
  check_threads("setp.lt.u32 %p1, %r0, 40;\nbar.red.popc.u32 %r1, 0, %p1;", 70,
                [](unsigned) { return 40U; });
  check_threads(
      "setp.lt.u32 %p1, %r0, 40;\nbar.red.or.pred %p2, 0, %p1;\n"
      "bar.red.and.pred %p3, 0, !%p1;\nselp.u32 %r1, 1, 0, %p2;\n@%p3 mov.u32 %r1, 9;",
      70, [](unsigned) { return 1U; });
}

TEST_CASE("a reduction of a barrier defines its result") {
  check_threads(
      "setp.lt.u32 %p1, %r0, 40;\n@%p1 mov.u32 %r1, 1;\n@%p1 add.u32 %r2, %r1, 1;\n"
      "bar.red.popc.u32 %r1, 0, %p1;",
      70, [](unsigned) { return 40U; });
}

TEST_CASE("lanes without a row of a matrix need no address") {
  const auto body = [](const std::string& count, const std::string& registers) {
    return "mov.u32 %r9, smem;\nsetp.lt.u32 %p1, %r0, 8;\n"
           "@%p1 mad.lo.u32 %r4, %r0, 16, %r9;\n"
           "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r0};\nbar.warp.sync -1;\n"
           "ldmatrix.sync.aligned.m8n8." +
           count + ".shared.b16 {" + registers + "}, [%r4];";
  };
  check_threads(body("x1", "%r1"), 32, [](unsigned i) { return i; });
  const OutRun run = run_out(thread_kernel(body("x2", "%r1, %r2")), 32, {.checks = Checks::all()});
  CHECK_THAT(run.report.text(),
             Catch::Matchers::ContainsSubstring("uses a register that was never written"));
}

TEST_CASE("named barriers hand data from warps that arrive to warps that wait") {
  check_threads(
      "mov.u32 %r2, smem;\nand.b32 %r3, %r0, 31;\nshl.b32 %r3, %r3, 2;\n"
      "add.u32 %r3, %r2, %r3;\nsetp.ge.u32 %p1, %r0, 32;\n@%p1 bra USE;\n"
      "add.u32 %r1, %r0, 1;\nst.shared.u32 [%r3], %r1;\nbar.arrive 3, 64;\nbra DONE;\n"
      "USE: bar.sync 3, 64;\nld.shared.u32 %r1, [%r3];\nDONE:",
      64, [](unsigned i) { return i % 32 + 1; });
}

TEST_CASE("a warp barrier orders its lanes' shared memory") {
  check_threads(
      "mov.u32 %r2, smem;\nshl.b32 %r3, %r0, 2;\nadd.u32 %r4, %r2, %r3;\n"
      "st.shared.u32 [%r4], %r0;\nbar.warp.sync -1;\nxor.b32 %r5, %r3, 4;\n"
      "add.u32 %r5, %r2, %r5;\nld.shared.u32 %r1, [%r5];",
      32, [](unsigned i) { return i ^ 1; });
}

}  // namespace
}  // namespace recto::ptx
