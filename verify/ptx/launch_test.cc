// Launches that cannot be, and the limits of those that can.

#include "verify/ptx/launch.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/ptx/readable_names.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

using Catch::Matchers::ContainsSubstring;

TestKernel small_kernel() {
  TestKernel kernel;
  kernel.declarations = ".shared .align 4 .b8 fixed[1024];\n.extern .shared .align 16 .b8 more[];";
  kernel.body =
      ".reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\n"
      "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nmov.u32 %r2, %nctaid.x;\n"
      "st.global.u32 [%rd1], %r2;\nmov.u32 %r3, %dynamic_smem_size;\nret;";
  return kernel;
}

LaunchReport run(const LaunchShape& shape, const Arguments& arguments,
                 const LaunchOptions& options = {}) {
  static std::vector<std::uint32_t> out(256);
  DeviceMemory memory;
  memory.add("out", out.data(), out.size() * 4);
  Arguments given = arguments;
  if (given.bytes().empty()) given.add(out.data());
  return LoadedKernel(small_kernel()).run(shape, given, memory, options);
}

TEST_CASE("a launch within the limits runs, one beyond them is a finding") {
  const auto text = [](const Dim3& grid, const Dim3& block, std::size_t shared = 0) {
    return run({grid, block, shared}, {}).text();
  };
  CHECK(text({256, 1, 1}, {1024, 1, 1}).empty());
  CHECK(text({1, 65535, 1}, {1, 1, 64}).empty());
  CHECK(text({1, 1, 1}, {1, 1, 1}, 226 << 10).empty());
  CHECK_THAT(text({1, 1, 1}, {1025, 1, 1}), ContainsSubstring("1 to 1024 threads"));
  CHECK_THAT(text({1, 1, 1}, {1, 1, 65}), ContainsSubstring("1 to 1024 threads"));
  CHECK_THAT(text({1, 1, 1}, {65536, 65536, 4}), ContainsSubstring("1 to 1024 threads"));
  CHECK_THAT(text({1, 1, 1}, {0, 1, 1}), ContainsSubstring("1 to 1024 threads"));
  CHECK_THAT(text({0, 1, 1}, {1, 1, 1}), ContainsSubstring("the grid (0, 1, 1)"));
  CHECK_THAT(text({1, 65536, 1}, {1, 1, 1}), ContainsSubstring("the grid"));
  CHECK_THAT(text({1, 1, 1}, {1, 1, 1}, (226 << 10) + 1), ContainsSubstring("shared memory takes"));
  CHECK_THAT(text({1, 1, 1}, {1, 1, 1}, SIZE_MAX), ContainsSubstring("shared memory takes"));
}

TEST_CASE("missing arguments are a finding") {
  CHECK_THAT(run({}, Arguments().add(std::uint32_t{1})).text(),
             ContainsSubstring("the arguments have 4 bytes, the parameters 8"));
}

TEST_CASE("a launch must keep a kernel's own limit and shape of threads") {
  const std::string text = small_kernel().text();
  std::string limited = text;
  limited.replace(limited.find(")\n{"), 2, ") .maxntid 64, 1, 1\n");
  std::vector<std::uint32_t> out(4);
  DeviceMemory memory;
  memory.add("out", out.data(), 16);
  const LoadedKernel kernel(limited);
  CHECK(kernel.run({{}, {64, 1, 1}, 0}, Arguments().add(out.data()), memory).passed());
  CHECK_THAT(kernel.run({{}, {65, 1, 1}, 0}, Arguments().add(out.data()), memory).text(),
             ContainsSubstring("has 65 threads, the kernel allows 64"));
  std::string exact = text;
  exact.replace(exact.find(")\n{"), 2, ") .reqntid 16, 4\n");
  const LoadedKernel required(exact);
  CHECK(required.run({{}, {16, 4, 1}, 0}, Arguments().add(out.data()), memory).passed());
  for (const Dim3& block : {Dim3{64, 1, 1}, Dim3{16, 2, 1}}) {
    CHECK_THAT(required.run({{}, block, 0}, Arguments().add(out.data()), memory).text(),
               ContainsSubstring("the kernel requires (16, 4, 1) (.reqntid)"));
  }
}

TEST_CASE("stores of one instruction in one place are races, unless equal ones are allowed") {
  TestKernel kernel;
  std::uint64_t out = 0;
  DeviceMemory memory;
  memory.add("out", &out, 8);
  const auto text_of = [&](const std::string& value, bool allows_equal_stores) {
    kernel.body =
        ".reg .b32 %r<3>;\n.reg .b64 %rd<2>;\nld.param.b64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
        "st.global.b32 [%rd1], " +
        value + ";\nret;";
    const LaunchOptions options = {.checks = {.races = true},
                                   .allows_equal_stores = allows_equal_stores};
    return LoadedKernel(kernel)
        .run({{}, {64, 1, 1}, 0}, Arguments().add(&out), memory, options)
        .text();
  };
  CHECK_THAT(text_of("7", false), ContainsSubstring("race in kernel 'k'"));
  CHECK(text_of("7", true).empty());
  CHECK_THAT(text_of("%r1", true), ContainsSubstring("another lane overwrites"));
}

TEST_CASE("a module lists its kernels, and says which ones cannot be run") {
  TestKernel kernel = small_kernel();
  Result<Module> module = Module::parse(kernel.text());
  REQUIRE(module.is_ok());
  CHECK(module.value().kernel_names() == std::vector<std::string>{"k"});
  CHECK_THAT(module.value().kernel("other").status().message(),
             ContainsSubstring("the module has no kernel 'other'"));
  kernel.declarations = ".shared .align 4 .b8 large[300000];";
  CHECK_THAT(refusal_of(kernel), ContainsSubstring("shared variables take 300000 bytes"));
  for (const char* bytes : {"1099511627776", "4294967295", "1073741821"}) {
    kernel.declarations = ".global .b8 small[4];\n.global .b8 large[" + std::string(bytes) + "];";
    CHECK_THAT(refusal_of(kernel), ContainsSubstring("line 5: variables take"));
  }
}

TEST_CASE("variables of a module are aligned as they say") {
  TestKernel kernel = small_kernel();
  kernel.declarations =
      ".global .b8 small[3];\n.global .align 65536 .b8 large[8];\n" + kernel.declarations;
  const LoadedKernel loaded(kernel);
  CHECK(loaded.module().variables().buffers().at(1).begin % 65536 == 0);
}

TEST_CASE("a vector of one register, as Triton writes it, is that register") {
  TestKernel kernel;
  kernel.body =
      ".reg .b32 %r<3>;\n.reg .b64 %rd<2>;\nld.param.b64 %rd1, [out];\n"
      "ld.global.b32 { %r1 }, [ %rd1 + 0 ];\nadd.s32 %r1, %r1, 1;\n"
      "st.global.b32 [ %rd1 + 4 ], { %r1 };\nret;";
  std::vector<std::uint32_t> out = {41, 0};
  DeviceMemory memory;
  memory.add("out", out.data(), 8);
  CHECK(LoadedKernel(kernel).run({}, Arguments().add(out.data()), memory).text().empty());
  CHECK(out[1] == 42);
}

TEST_CASE("global variables keep their values between launches, and can be found by name") {
  TestKernel kernel;
  kernel.declarations = ".global .align 4 .u32 count = 5;";
  kernel.body = ".reg .b32 %r<3>;\natom.global.add.u32 %r1, [count], 1;\nret;";
  const LoadedKernel loaded(kernel);
  std::uint64_t out = 0;
  DeviceMemory memory;
  memory.add("out", &out, 8);
  for (int i = 0; i < 3; ++i) {
    CHECK(loaded.run({{2, 1, 1}, {32, 1, 1}, 0}, Arguments().add(&out), memory).passed());
  }
  const Buffer& count = loaded.module().variables().buffers().at(0);
  CHECK(count.name == "count");
  CHECK(*reinterpret_cast<const std::uint32_t*>(count.begin) == 5 + 3 * 64);
}

TEST_CASE("a thread block stays within its owner's pieces of a buffer") {
  std::vector<std::uint32_t> out(2);
  const auto bounds_of = [](std::vector<std::uint32_t> owners) {
    return std::make_shared<const simt::LogicalBounds>(
        simt::LogicalBounds{.piece_bytes = 4,
                            .may_touch = {{true, false}, {false, true}},
                            .owner_of_block = std::move(owners)});
  };
  const auto text = [&](std::vector<std::uint32_t> owners) {
    DeviceMemory memory;
    memory.add({.name = "out",
                .begin = reinterpret_cast<std::uintptr_t>(out.data()),
                .bytes = 8,
                .logical_bounds = bounds_of(std::move(owners))});
    return LoadedKernel(small_kernel())
        .run({{2, 1, 1}, {1, 1, 1}, 0}, Arguments().add(out.data()), memory)
        .text();
  };
  CHECK(text({0, 1}).empty());
  CHECK_THAT(text({0, 0}),
             ContainsSubstring("logical bounds") &&
                 ContainsSubstring("block (1, 0, 0) writes 4 bytes of out+4, in piece 1 (of 4 "
                                   "bytes), outside the pieces of owner 0: it belongs to owner 1"));
  CHECK_THAT(text({0}), ContainsSubstring("outside the pieces of its thread block"));
}

TEST_CASE("memory by which thread blocks communicate is not checked for races") {
  TestKernel kernel;
  kernel.body = ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], 1;\nret;";
  std::uint32_t out = 0;
  for (const bool communicates : {false, true}) {
    DeviceMemory memory;
    memory.add({.name = "out",
                .begin = reinterpret_cast<std::uintptr_t>(&out),
                .bytes = 4,
                .blocks_communicate = communicates});
    const LaunchReport report = LoadedKernel(kernel).run(
        {{2, 1, 1}, {1, 1, 1}, 0}, Arguments().add(&out), memory, {.checks = Checks::all()});
    CHECK(report.passed() == communicates);
  }
}

TEST_CASE("mangled names in messages become readable") {
  CHECK(readable_names("in '_Z5scalePfi': reads _ZZ5scalePfiE4rows+8 of x") ==
        "in 'scale': reads rows+8 of x");
  CHECK(readable_names("_ZN1a6kernelIfLi4EEEvPT_") == "a::kernel<float, 4>");
  CHECK(readable_names("_Zone, a_Z5scalePfi") == "_Zone, a_Z5scalePfi");
}

TEST_CASE("a module lists the parameters of its kernels") {
  TestKernel kernel = small_kernel();
  kernel.parameters += ", .param .f32 scale, .param .align 8 .b8 shape[24]";
  const LoadedKernel loaded(kernel);
  const std::vector<Parameter> parameters = loaded.module().parameters("k");
  REQUIRE(parameters.size() == 3);
  CHECK((parameters[0].name == "out" && parameters[0].type == "u64" && parameters[0].bytes == 8));
  CHECK((parameters[1].type == "f32" && parameters[1].bytes == 4));
  CHECK((parameters[2].type == "b8" && parameters[2].bytes == 24));
  CHECK(loaded.module().parameters("other").empty());
}

TEST_CASE("thread blocks of a cooperative launch wait for each other") {
  TestKernel kernel;
  kernel.body =
      ".reg .pred %p<3>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [out];\n"
      "mov.u32 %r1, %nctaid.x;\natom.global.add.u32 %r2, [%rd1], 1;\n"
      "SPIN: ld.volatile.global.u32 %r3, [%rd1];\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra SPIN;\nret;";
  std::uint32_t out = 0;
  DeviceMemory memory;
  memory.add("out", &out, 4);
  const LoadedKernel loaded(kernel);
  LaunchOptions options{.is_cooperative = true};
  CHECK(loaded.run({{5, 1, 1}, {1, 1, 1}, 0}, Arguments().add(&out), memory, options).passed());
  CHECK(out == 5);
  out = 0;
  options = {.steps_max = 10000};
  const LaunchReport report =
      loaded.run({{5, 1, 1}, {1, 1, 1}, 0}, Arguments().add(&out), memory, options);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kNeverEnds);
}

TEST_CASE("findings are distinct, and at most as many as wanted") {
  TestKernel kernel;
  kernel.declarations = ".shared .align 4 .b8 s[1024];";
  kernel.body = ".reg .b32 %r<3>;\n";
  for (int i = 0; i < 30; ++i)
    kernel.body += "ld.shared.u32 %r1, [s+" + std::to_string(4 * i) + "];\n";
  kernel.body += "ret;";
  std::uint64_t out = 0;
  DeviceMemory memory;
  memory.add("out", &out, 8);
  const LoadedKernel loaded(kernel);
  LaunchOptions options{.checks = Checks::all()};
  CHECK(loaded.run({{3, 1, 1}, {64, 1, 1}, 0}, Arguments().add(&out), memory, options)
            .findings.size() == 16);
  options.findings_max = 100;
  CHECK(loaded.run({{3, 1, 1}, {64, 1, 1}, 0}, Arguments().add(&out), memory, options)
            .findings.size() == 30);
}

}  // namespace
}  // namespace recto::ptx
