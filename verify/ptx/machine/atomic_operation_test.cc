#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

constexpr std::uint64_t kOnes32 = 0xffffffff;
constexpr std::uint64_t kOnes = ~std::uint64_t{0};

// One thread's operation on `old` and `b`: {what memory holds then, what the operation returns}.
std::vector<std::uint64_t> results_of(const std::string& operation, std::uint64_t old,
                                      std::uint64_t b, bool is_global) {
  const bool is_wide = operation.ends_with("64");
  const std::string space = is_global ? ".global" : ".shared";
  const std::string place = is_global ? "[%rd0]" : "[word]";
  TestKernel kernel;
  kernel.declarations = ".shared .align 8 .b64 word;";
  kernel.body =
      ".reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<5>;\nld.param.u64 %rd0, [out];\n"
      "mov.u32 %r0, %tid.x;\nsetp.ne.u32 %p1, %r0, 0;\n@%p1 ret;\nmov.b64 %rd1, " +
      std::to_string(old) + ";\nmov.b64 %rd2, " + std::to_string(b) +
      ";\ncvt.u32.u64 %r2, %rd2;\nst" + space + ".b64 " + place + ", %rd1;\natom" + space + "." +
      operation + (is_wide ? " %rd3, " : " %r3, ") + place + (is_wide ? ", %rd2" : ", %r2") +
      ";\n" + (is_wide ? "" : "cvt.u64.u32 %rd3, %r3;\n") + "ld" + space + ".b64 %rd4, " + place +
      ";\nst.global.b64 [%rd0], %rd4;\nst.global.b64 [%rd0+8], %rd3;\nret;";
  const OutRun run = run_out(kernel, 2, {.checks = Checks::all()});
  CHECK(run.report.text() == "");
  return run.out;
}

TEST_CASE("atomic operations leave and return what PTX says") {
  struct Row {
    std::string operation;
    std::uint64_t old = 0;
    std::uint64_t b = 0;
    std::uint64_t expected = 0;
  };
  const std::vector<Row> rows = {
      {"inc.u32", 3, 5, 4},
      {"inc.u32", 5, 5, 0},
      {"dec.u32", 3, 5, 2},
      {"dec.u32", 0, 5, 5},
      {"dec.u32", 9, 5, 5},
      {"exch.b32", 7, 9, 9},
      {"exch.b64", kOnes, 5, 5},
      {"and.b32", 12, 10, 8},
      {"and.b64", kOnes - 1, kOnes << 32 | 3, kOnes << 32 | 2},
      {"or.b32", 12, 10, 14},
      {"or.b64", 12, std::uint64_t{1} << 40, std::uint64_t{1} << 40 | 12},
      {"xor.b32", 12, 10, 6},
      {"xor.b64", kOnes, kOnes32, kOnes << 32},
      {"min.u32", 3, kOnes32, 3},
      {"min.s32", 3, kOnes32, kOnes32},
      {"max.u32", 3, kOnes32, kOnes32},
      {"max.s32", 3, kOnes32, 3},
      {"min.u64", 3, kOnes, 3},
      {"min.s64", 3, kOnes, kOnes},
      {"max.u64", 3, kOnes, kOnes},
      {"max.s64", 3, kOnes, 3},
      {"add.s32", kOnes32, 3, 2},
      {"add.u64", kOnes32, 1, std::uint64_t{1} << 32},
      {"add.f64", 0x3ff8000000000000, 0x4000000000000000, 0x400c000000000000},  // 1.5 + 2
  };
  for (const Row& row : rows) {
    for (const bool is_global : {false, true}) {
      INFO(row.operation << " of " << row.old << " and " << row.b << ", global " << is_global);
      CHECK(results_of(row.operation, row.old, row.b, is_global) ==
            std::vector<std::uint64_t>{row.expected, row.old});
    }
  }
}

}  // namespace
}  // namespace recto::ptx
