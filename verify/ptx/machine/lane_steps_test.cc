// Forms of instructions that compute lane by lane, through text and decoder: a table of operands
// and results. arithmetic/ tests the functions themselves.

#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

constexpr std::uint64_t kOnes32 = 0xffffffff;

struct Row {
  std::string form;
  // Registers' bits, the result's first; 1 is a predicate.
  std::vector<unsigned> bits;
  std::vector<std::uint64_t> operands;
  std::uint64_t result = 0;
};

// A kernel that computes d once in all lanes, and once in the odd ones alone.
TestKernel kernel_of(const Row& row) {
  TestKernel kernel;
  const auto type = [](unsigned bits) { return ".b" + std::to_string(bits); };
  std::string& body = kernel.body;
  body = ".reg .pred %p<9>;\n.reg .b32 %t<9>;\n.reg .b64 %rd<9>;\n";
  std::string call = row.form + " ";
  std::string odd_call = "@%p8 " + row.form + " ";
  for (std::size_t i = 0; i < row.bits.size(); ++i) {
    const std::string reg = (row.bits[i] == 1 ? "%p" : "%v") + std::to_string(i);
    if (row.bits[i] != 1) body += ".reg " + type(row.bits[i]) + " " + reg + ";\n";
    call += (i == 0 ? "" : ", ") + reg;
    odd_call += (i == 0 ? "" : ", ") + reg;
    const std::uint64_t value = i == 0 ? 0 : row.operands[i - 1];
    if (row.bits[i] == 1) {
      body += "setp.ne.u32 " + reg + ", " + std::to_string(value) + ", 0;\n";
    } else {
      body += "mov" + type(row.bits[i]) + " " + reg + ", " + std::to_string(value) + ";\n";
    }
  }
  const std::string d = row.bits[0] == 1 ? "%p0" : "%v0";
  const auto widen = [&](const std::string& to) {
    if (row.bits[0] == 1) return "selp.b64 " + to + ", 1, 0, " + d + ";\n";
    if (row.bits[0] == 64) return "mov.b64 " + to + ", " + d + ";\n";
    return "cvt.u64.u" + std::to_string(row.bits[0]) + " " + to + ", " + d + ";\n";
  };
  body += "mov.u32 %t1, %laneid;\nand.b32 %t2, %t1, 1;\nsetp.eq.u32 %p8, %t2, 1;\n" + odd_call +
          ";\n" + widen("%rd1") + call + ";\n" + widen("%rd2") +
          "ld.param.u64 %rd3, [out];\nmul.wide.u32 %rd4, %t1, 8;\nadd.s64 %rd3, %rd3, %rd4;\n"
          "selp.b64 %rd5, %rd1, %rd2, %p8;\n"
          "@!%p8 setp.eq.u64 %p7, %rd1, 0;\n@!%p8 selp.b64 %rd5, %rd2, 3735928559, %p7;\n"
          "st.global.u64 [%rd3], %rd5;\nret;";
  return kernel;
}

void check_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.form);
    const OutRun run = run_out(kernel_of(row), 32);
    CHECK(run.report.text().empty());
    for (unsigned lane = 0; lane < 32; ++lane) {
      INFO("lane " << lane << " got " << run.out[lane] << ", expected " << row.result);
      REQUIRE(run.out[lane] == row.result);
    }
  }
}

TEST_CASE("integer instructions give the results of the ISA") {
  const std::uint64_t minus = kOnes32;  // -1
  check_rows({
      {"add.s32", {32, 32, 32}, {kOnes32, 2}, 1},
      {"add.u64", {64, 64, 64}, {~std::uint64_t{0}, 2}, 1},
      {"add.s16", {16, 16, 16}, {0xffff, 3}, 2},
      {"add.sat.s32", {32, 32, 32}, {0x7fffffff, 1}, 0x7fffffff},
      {"sub.s32", {32, 32, 32}, {1, 2}, kOnes32},
      {"mul.lo.s32", {32, 32, 32}, {minus, 5}, kOnes32 - 4},
      {"mul.hi.s32", {32, 32, 32}, {minus, 5}, kOnes32},
      {"mul.hi.u32", {32, 32, 32}, {minus, 5}, 4},
      {"mul.wide.s32", {64, 32, 32}, {minus, 5}, ~std::uint64_t{0} - 4},
      {"mul.wide.u16", {32, 16, 16}, {0xffff, 0xffff}, 0xfffe0001},
      {"mul.lo.s64", {64, 64, 64}, {1ULL << 40, 1ULL << 23}, 1ULL << 63},
      {"mul.hi.u64", {64, 64, 64}, {1ULL << 40, 1ULL << 30}, 64},
      {"mad.lo.s32", {32, 32, 32, 32}, {3, 4, 5}, 17},
      {"mad.wide.u32", {64, 32, 32, 64}, {kOnes32, 2, 3}, 2 * kOnes32 + 3},
      {"mul24.lo.u32", {32, 32, 32}, {0xff000003, 2}, 6},
      {"mad24.hi.s32", {32, 32, 32, 32}, {0x400000, 0x800000, 5}, 0xe0000005},
      {"mad24.hi.u32", {32, 32, 32, 32}, {0xffffff, 0xffffff, 1}, 0xfffffe01},
      {"mad24.hi.sat.s32", {32, 32, 32, 32}, {0x7fffff, 0x7fffff, 0x7fffffff}, 0x7fffffff},
      {"sad.s32", {32, 32, 32, 32}, {minus, 2, 10}, 13},
      {"div.s32", {32, 32, 32}, {kOnes32 - 6, 2}, kOnes32 - 2},
      {"div.u32", {32, 32, 32}, {7, 0}, kOnes32},
      {"rem.s32", {32, 32, 32}, {kOnes32 - 6, 2}, kOnes32},
      {"rem.u64", {64, 64, 64}, {17, 5}, 2},
      {"min.s32", {32, 32, 32}, {minus, 1}, minus},
      {"max.u32", {32, 32, 32}, {minus, 1}, minus},
      {"neg.s32", {32, 32}, {5}, kOnes32 - 4},
      {"abs.s64", {64, 64}, {~std::uint64_t{0}}, 1},
      {"popc.b32", {32, 32}, {0xf0f0}, 8},
      {"popc.b64", {32, 64}, {~std::uint64_t{0}}, 64},
      {"clz.b32", {32, 32}, {1}, 31},
      {"brev.b32", {32, 32}, {1}, 0x80000000},
      {"bfind.u32", {32, 32}, {0x1000}, 12},
      {"bfind.shiftamt.u32", {32, 32}, {0x1000}, 19},
      {"bfe.u32", {32, 32, 32, 32}, {0xabcd1234, 4, 8}, 0x23},
      {"bfe.s32", {32, 32, 32, 32}, {0xf0, 4, 4}, kOnes32},
      {"bfi.b32", {32, 32, 32, 32, 32}, {0xf, 0, 8, 4}, 0xf00},
      {"dp4a.u32.u32", {32, 32, 32, 32}, {0x01020304, 0x01010101, 5}, 15},
      {"dp2a.lo.u32.u32", {32, 32, 32, 32}, {0x00020003, 0x04030201, 10}, 17},
      {"dp2a.hi.s32.s32", {32, 32, 32, 32}, {0x0002ffff, 0x04030201, 10}, 15},
      {"szext.clamp.s32", {32, 32, 32}, {0xf0, 8}, kOnes32 - 15},
      {"szext.wrap.u32", {32, 32, 32}, {0xabcd, 36}, 0xd},
      {"add.s16x2", {32, 32, 32}, {0x7fff8000, 0x0001ffff}, 0x80007fff},
      {"min.u16x2", {32, 32, 32}, {0xffff0001, 0x00020003}, 0x00020001},
      {"max.s16x2", {32, 32, 32}, {0xffff0001, 0x00020003}, 0x00020003},
      {"prmt.b32", {32, 32, 32, 32}, {0x33221100, 0x77665544, 0x7531}, 0x77553311},
  });
}

TEST_CASE("logic, shifts, moves and selections give the results of the ISA") {
  check_rows({
      {"and.b32", {32, 32, 32}, {0xff00, 0x0ff0}, 0x0f00},
      {"or.b16", {16, 16, 16}, {0xf0, 0x0f}, 0xff},
      {"xor.b64", {64, 64, 64}, {~std::uint64_t{0}, 1}, ~std::uint64_t{1}},
      {"not.b32", {32, 32}, {0}, kOnes32},
      {"cnot.b32", {32, 32}, {0}, 1},
      {"and.pred", {1, 1, 1}, {1, 1}, 1},
      {"xor.pred", {1, 1, 1}, {1, 0}, 1},
      {"not.pred", {1, 1}, {0}, 1},
      {"mov.pred", {1, 1}, {1}, 1},
      {"shl.b32", {32, 32, 32}, {1, 31}, 0x80000000},
      {"shl.b64", {64, 64, 32}, {3, 62}, 3ULL << 62},
      {"shr.s32", {32, 32, 32}, {0x80000000, 100}, kOnes32},
      {"shr.u16", {16, 16, 32}, {0x8000, 15}, 1},
      {"shf.l.wrap.b32", {32, 32, 32, 32}, {0x80000000, 1, 33}, 3},
      {"shf.r.clamp.b32", {32, 32, 32, 32}, {1, 7, 40}, 7},
      {"mov.u32", {32, 32}, {77}, 77},
      {"mov.f64", {64, 64}, {77}, 77},
      {"selp.b32", {32, 32, 32, 1}, {5, 6, 1}, 5},
      {"selp.f32", {32, 32, 32, 1}, {5, 6, 0}, 6},
      {"slct.u32.s32", {32, 32, 32, 32}, {5, 6, 0x80000000}, 6},
  });
}

TEST_CASE("floating-point instructions give the results of the ISA in every mode") {
  const std::uint64_t one = 0x3f800000;
  const std::uint64_t third = 0x3eaaaaab;
  const std::uint64_t tiny = 1;  // the smallest subnormal
  check_rows({
      {"add.f32", {32, 32, 32}, {one, one}, 0x40000000},
      {"add.rn.f32", {32, 32, 32}, {one, 0x33800000}, one},
      {"add.rp.f32", {32, 32, 32}, {one, 0x33800000}, one + 1},
      {"add.rz.f32", {32, 32, 32}, {one, 0xb3000000}, one - 1},
      {"add.f32", {32, 32, 32}, {tiny, tiny}, 2},
      {"add.ftz.f32", {32, 32, 32}, {tiny, tiny}, 0},
      {"add.sat.f32", {32, 32, 32}, {one, one}, one},
      {"sub.ftz.sat.f32", {32, 32, 32}, {0, one}, 0},
      {"mul.rm.f32", {32, 32, 32}, {third, third}, 0x3de38e39},
      {"fma.rn.f32", {32, 32, 32, 32}, {0x40000000, 0x40400000, one}, 0x40e00000},
      {"fma.rn.ftz.sat.f32", {32, 32, 32, 32}, {0xc0000000, one, one}, 0},
      {"div.rn.f32", {32, 32, 32}, {one, 0x40400000}, third},
      {"div.approx.f32", {32, 32, 32}, {one, 0x40000000}, 0x3f000000},
      {"div.full.ftz.f32", {32, 32, 32}, {one, 0x40000000}, 0x3f000000},
      {"rcp.rn.f32", {32, 32}, {0x40000000}, 0x3f000000},
      {"rcp.approx.ftz.f32", {32, 32}, {0x40000000}, 0x3f000000},
      {"sqrt.rn.f32", {32, 32}, {0x40800000}, 0x40000000},
      {"rsqrt.approx.f32", {32, 32}, {0x40800000}, 0x3f000000},
      {"rsqrt.approx.f64", {64, 64}, {0x4010000000000000}, 0x3fe0000000000000},
      {"rsqrt.approx.f64", {64, 64}, {0x8000000000000000}, 0xfff0000000000000},
      {"ex2.approx.ftz.f32", {32, 32}, {0x40400000}, 0x41000000},
      {"lg2.approx.f32", {32, 32}, {0x41000000}, 0x40400000},
      {"tanh.approx.f32", {32, 32}, {0}, 0},
      {"neg.f32", {32, 32}, {one}, 0xbf800000},
      {"abs.ftz.f32", {32, 32}, {0xbf800000}, one},
      {"min.f32", {32, 32, 32}, {0x7fc00000, one}, one},
      {"max.NaN.f32", {32, 32, 32}, {0x7fc00000, one}, 0x7fffffff},
      {"copysign.f32", {32, 32, 32}, {0x80000000, one}, 0xbf800000},
      {"testp.subnormal.f32", {1, 32}, {tiny}, 1},
      {"add.f64", {64, 64, 64}, {0x3ff0000000000000, 0x3ff0000000000000}, 0x4000000000000000},
      {"fma.rz.f64",
       {64, 64, 64, 64},
       {0x4000000000000000, 0x4000000000000000, 0},
       0x4010000000000000},
      {"add.f16", {16, 16, 16}, {0x3c00, 0x3c00}, 0x4000},
      {"fma.rn.f16x2", {32, 32, 32, 32}, {0x40003c00, 0x40003c00, 0x3c003c00}, 0x45004000},
      {"fma.rn.relu.bf16", {16, 16, 16, 16}, {0xbf80, 0x3f80, 0}, 0},
      {"fma.rn.ftz.relu.f16", {16, 16, 16, 16}, {0x0001, 0x3c00, 0xbc00}, 0},
      {"fma.rn.ftz.relu.f16x2", {32, 32, 32, 32}, {0x00014000, 0x3c003c00, 0x00010000}, 0x00004000},
      {"add.rn.bf16x2", {32, 32, 32}, {0x3f803f80, 0x3f803f80}, 0x40004000},
      {"max.f16x2", {32, 32, 32}, {0x3c00c000, 0x40003c00}, 0x40003c00},
      {"ex2.approx.f16", {16, 16}, {0x3c00}, 0x4000},
  });
}

TEST_CASE("comparisons give the results of the ISA") {
  const std::uint64_t nan = 0x7fc00000;
  check_rows({
      {"setp.lt.s32", {1, 32, 32}, {kOnes32, 0}, 1},
      {"setp.lo.u32", {1, 32, 32}, {kOnes32, 0}, 0},
      {"setp.hs.u64", {1, 64, 64}, {5, 5}, 1},
      {"setp.ne.b16", {1, 16, 16}, {5, 6}, 1},
      {"setp.eq.f32", {1, 32, 32}, {0, 0x80000000}, 1},
      {"setp.ne.f32", {1, 32, 32}, {nan, 0}, 0},
      {"setp.neu.f32", {1, 32, 32}, {nan, 0}, 1},
      {"setp.nan.f64", {1, 64, 64}, {0, 0}, 0},
      {"setp.gt.ftz.f32", {1, 32, 32}, {1, 0}, 0},
      {"setp.gt.f32", {1, 32, 32}, {1, 0}, 1},
      {"setp.le.f16", {1, 16, 16}, {0x3c00, 0x4000}, 1},
      {"setp.lt.and.s32", {1, 32, 32, 1}, {0, 1, 0}, 0},
      {"setp.lt.or.s32", {1, 32, 32, 1}, {2, 1, 1}, 1},
      {"set.lt.u32.s32", {32, 32, 32}, {0, 1}, kOnes32},
      {"set.lt.f32.s32", {32, 32, 32}, {0, 1}, 0x3f800000},
      {"setp.gt.ftz.f16", {1, 16, 16}, {1, 0}, 0},
      {"setp.gt.f16", {1, 16, 16}, {1, 0}, 1},
      {"setp.lt.f16x2", {1, 32, 32}, {0x40003c00, 0x3c004000}, 1},
      {"setp.lt.bf16x2", {1, 32, 32}, {0x3f804000, 0x40003f80}, 0},
      {"set.eq.f16x2.f16x2", {32, 32, 32}, {0x3c000000, 0x3c003c00}, 0x3c000000},
      {"set.eq.bf16x2.bf16x2", {32, 32, 32}, {0x80003f80, 0x00003f81}, 0x3f800000},
      {"set.gtu.u32.f16x2", {32, 32, 32}, {0x7e003c00, 0x00004000}, 0xffff0000},
      {"set.lt.and.f16x2.f16x2", {32, 32, 32, 1}, {0, 0x3c003c00, 0}, 0},
      {"set.eq.f16.f16", {16, 16, 16}, {0x3c00, 0x3c00}, 0x3c00},
      {"set.ne.u16.f16", {16, 16, 16}, {0x3c00, 0x4000}, 0xffff},
      {"set.lt.bf16.bf16", {16, 16, 16}, {0x3f80, 0x4000}, 0x3f80},
      {"set.lt.xor.u32.s32", {32, 32, 32, 1}, {0, 1, 1}, 0},
  });
}

TEST_CASE("conversions give the results of the ISA, in registers as wide as the types or wider") {
  check_rows({
      {"cvt.u32.u16", {32, 16}, {0xffff}, 0xffff},
      {"cvt.s32.s16", {32, 16}, {0xffff}, kOnes32},
      {"cvt.s64.s32", {64, 32}, {kOnes32}, ~std::uint64_t{0}},
      {"cvt.u16.u64", {16, 64}, {0x12345}, 0x2345},
      {"cvt.s32.s8", {32, 32}, {0x1ff}, kOnes32},
      {"cvt.u8.u32", {32, 32}, {0x1ff}, 0xff},
      {"cvt.s8.s32", {16, 32}, {0x180}, 0xff80},
      {"cvt.sat.u8.s32", {32, 32}, {kOnes32}, 0},
      {"cvt.sat.s8.s32", {32, 32}, {1000}, 127},
      {"cvt.rzi.s32.f32", {32, 32}, {0xc0200000}, kOnes32 - 1},
      {"cvt.rni.sat.u32.f32", {32, 32}, {0xbf800000}, 0},
      {"cvt.rpi.ftz.s64.f32", {64, 32}, {1}, 0},
      {"cvt.rn.f32.s32", {32, 32}, {0x01000001}, 0x4b800000},
      {"cvt.rp.f32.u32", {32, 32}, {0x01000001}, 0x4b800001},
      {"cvt.rn.f64.u64", {64, 64}, {3}, 0x4008000000000000},
      {"cvt.rn.f16.f32", {16, 32}, {0x3f801000}, 0x3c00},
      {"cvt.rz.f16.f32", {16, 32}, {0x3f803000}, 0x3c01},
      {"cvt.rn.bf16.f32", {16, 32}, {0x3f808000}, 0x3f80},
      {"cvt.rn.relu.bf16.f32", {16, 32}, {0xbf800000}, 0},
      {"cvt.rn.f16x2.f32", {32, 32, 32}, {0x3f800000, 0x40000000}, 0x3c004000},
      {"cvt.rn.relu.bf16x2.f32", {32, 32, 32}, {0x3f800000, 0xbf800000}, 0x3f800000},
      {"cvt.f32.f16", {32, 16}, {0x3c00}, 0x3f800000},
      {"cvt.f32.bf16", {32, 16}, {0x3f80}, 0x3f800000},
      {"cvt.f64.f32", {64, 32}, {0x3f800000}, 0x3ff0000000000000},
      {"cvt.rm.f32.f64", {32, 64}, {0x3ff0000000000001}, 0x3f800000},
      {"cvt.sat.f32.f32", {32, 32}, {0x40000000}, 0x3f800000},
      {"cvt.rmi.f32.f32", {32, 32}, {0xbfc00000}, 0xc0000000},
      {"cvt.rn.satfinite.e4m3x2.f32", {16, 32, 32}, {0x7f800000, 0x3f800000}, 0x7e38},
      {"cvt.rn.f16x2.e4m3x2", {32, 16}, {0x3840}, 0x3c004000},
      {"cvt.rn.f16x2.e5m2x2", {32, 16}, {0x3c40}, 0x3c004000},
      {"cvt.rn.bf16.f16", {16, 16}, {0x3c01}, 0x3f80},
      {"cvt.rp.bf16.f16", {16, 16}, {0x3c01}, 0x3f81},
      {"cvt.rn.f16.bf16", {16, 16}, {0x4780}, 0x7c00},
      {"cvt.rz.f16.bf16", {16, 16}, {0x4780}, 0x7bff},
      {"cvt.f64.bf16", {64, 16}, {0x3f80}, 0x3ff0000000000000},
      {"cvt.rmi.bf16.bf16", {16, 16}, {0xbfc0}, 0xc000},
      {"cvt.rn.relu.satfinite.f16x2.f32", {32, 32, 32}, {0x7f800000, 0xbf800000}, 0x7bff0000},
      {"cvt.rz.satfinite.bf16x2.f32", {32, 32, 32}, {0xff800000, 0x3f800000}, 0xff7f3f80},
      {"cvt.rn.satfinite.f16.f32", {16, 32}, {0x7f800000}, 0x7bff},
      {"cvt.rz.relu.satfinite.bf16.f32", {16, 32}, {0x7f800000}, 0x7f7f},
      {"cvt.rna.satfinite.tf32.f32", {32, 32}, {0x7f800000}, 0x7f7fe000},
      {"cvt.rn.satfinite.relu.tf32.f32", {32, 32}, {0xff800000}, 0},
      {"cvt.rna.tf32.f32", {32, 32}, {0x3f801000}, 0x3f802000},
  });
}

}  // namespace
}  // namespace recto::ptx
