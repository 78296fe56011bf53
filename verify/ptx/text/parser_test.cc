// What PTX text becomes, and what is refused.

#include "verify/ptx/text/parser.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::ptx::text {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kHeader = ".version 8.4\n.target sm_90a, debug\n.address_size 64\n";

Module parsed(const std::string& text) {
  const Result<Module> module = parse(kHeader + text);
  REQUIRE(module.status() == Status::ok());
  return module.value();
}

Function body(const std::string& text) {
  return parsed(".entry k(.param .u64 out) {\n" + text + "\n}").functions.at(0);
}

std::string error_of(const std::string& text) { return parse(text).status().message(); }

TEST_CASE("a module has a version, a target, files and variables") {
  const Module module = parsed(
      ".file 1 \"a b.cu\", 12, 34\n"
      ".global .align 8 .u64 pointers[2] = {generic(table)+4, 7};\n"
      ".const .align 4 .f32 table[2][2] = {{1.5, 0f40000000}, {-1.0}};\n"
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".visible .shared .v4 .f32 quad;\n"
      ".section .debug_str { info: .b8 1, 2 { } }\n");
  CHECK(module.version_major == 8);
  CHECK(module.version_minor == 4);
  CHECK(module.target == "sm_90a");
  CHECK(module.sources.files.at(1) == "a b.cu");
  REQUIRE(module.variables.size() == 4);
  const Variable& pointers = module.variables[0];
  CHECK(pointers.bytes == 16);
  REQUIRE(pointers.initial.size() == 2);
  CHECK(pointers.initial[0].symbol == "table");
  CHECK(pointers.initial[0].bits == 4);
  CHECK(pointers.initial[1].offset == 8);
  const Variable& table = module.variables[1];
  CHECK(table.bytes == 16);
  REQUIRE(table.initial.size() == 3);
  CHECK(table.initial[0].bits == 0x3fc00000);
  CHECK(table.initial[1].bits == 0x40000000);
  CHECK(table.initial[2].bits == 0xbf800000);
  CHECK(module.variables[2].is_extern);
  CHECK(module.variables[2].bytes == 0);
  CHECK(module.variables[3].bytes == 16);
  CHECK(module.variables[3].alignment == 16);
}

TEST_CASE("an instruction has a guard, modifiers, operands and a place") {
  const Function function = body(
      ".reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n"
      ".loc 1 17 3, function_name $info+8, inlined_at 1 20 5\n"
      "@!%p1 ld.global.v4.u32 {%r1, _, %r2, %r3}, [%rd1+-16];\n"
      "shfl.sync.bfly.b32 %r4|%p2, %r5, 0x10, 31U, -1;\n"
      "mov.u32 %r6, %tid.x;");
  REQUIRE(function.instructions.size() == 3);
  const Instruction& load = function.instructions[0];
  CHECK(load.place.ptx_line == 9);
  CHECK(load.place.line == 17);
  REQUIRE(load.guard);
  CHECK(load.guard->is_negated);
  CHECK(load.text() == "ld.global.v4.u32");
  REQUIRE(load.operands.size() == 2);
  CHECK(load.operands[0].parts.size() == 4);
  CHECK(load.operands[0].parts[1].kind == OperandKind::kSink);
  CHECK(load.operands[1].offset == -16);
  const Instruction& shuffle = function.instructions[1];
  CHECK(shuffle.operands[0].kind == OperandKind::kPair);
  CHECK(shuffle.operands[2].bits == 16);
  CHECK(shuffle.operands[4].bits == ~std::uint64_t{0});
  CHECK(function.instructions[2].operands[1].name == "%tid.x");
}

TEST_CASE("an inlined place names the calls by which it got there") {
  const Module module = parsed(
      ".entry k() {\n"
      ".loc 1 9 1\nret;\n"
      ".loc 2 5 1, function_name $a, inlined_at 1 9 1\nret;\n"
      ".loc 3 7 1, function_name $b+8, inlined_at 2 5 1\nret;\n"
      ".loc 1 10 1\nret;\n"
      ".loc 2 6 1, function_name $a, inlined_at 1 10 1\nret;\n"
      ".loc 2 5 1, function_name $a, inlined_at 1 10 1\nret;\n"
      ".loc 3 7 1, function_name $b+8, inlined_at 2 5 1\nret;\n"
      ".loc 3 7 1, function_name $b+8, inlined_at 2 6 1\nret;\n"
      ".loc 1 11 1\nret;\n}\n"
      ".file 1 \"/a/k.cu\"\n.file 2 \"/a/b.cuh\"\n.file 3 \"c.cuh\"\n");
  std::vector<std::string> calls;
  for (const Instruction& instruction : module.functions[0].instructions) {
    calls.push_back(module.sources.calls_text(instruction.place));
  }
  // The PTX does not say of which call in k.cu the copy of line 5 of b.cuh is.
  CHECK(calls == std::vector<std::string>{"", "k.cu:9", "b.cuh:5, k.cu:9 or k.cu:10", "", "k.cu:10",
                                          "k.cu:10", "b.cuh:5, k.cu:9 or k.cu:10",
                                          "b.cuh:6, k.cu:10", ""});
}

TEST_CASE("calls that are copied to many places end the text") {
  Sources sources;
  sources.files = {"", "a.cu"};
  sources.call_sites = {{},          {1, 3, {2, 3, 4, 5}}, {1, 4, {0}},
                        {1, 5, {0}}, {1, 6, {0}},          {1, 7, {0}}};
  CHECK(sources.calls_text({.inlined_at = 1}) == "a.cu:3, ...");
  CHECK(sources.calls_text({.inlined_at = 2}) == "a.cu:4");
  CHECK(sources.calls_text({}) == "");
  sources.call_sites[2].inlined_at = {2};  // no compiler writes this
  CHECK_THAT(sources.calls_text({.inlined_at = 2}), Catch::Matchers::EndsWith("a.cu:4, ..."));
}

TEST_CASE("names belong to their scope") {
  const Function function = body(
      ".reg .b32 %a;\nL: mov.u32 %a, 1;\n"
      "{ .reg .b32 %a;\n mov.u32 %a, 2;\n bra L;\n L: bra L; }\n"
      "{ .reg .f32 %a;\n mov.f32 %a, 0f00000000; }\n bra L;");
  REQUIRE(function.registers.size() == 3);
  const auto& steps = function.instructions;
  CHECK(steps[0].operands[0].index == 0);
  CHECK(steps[1].operands[0].index == 1);
  CHECK(steps[2].operands[0].index == 3);  // the inner label, though it comes later
  CHECK(steps[3].operands[0].index == 3);
  CHECK(function.registers[steps[4].operands[0].index].type == ScalarType::kF32);
  CHECK(steps[5].operands[0].index == 0);
}

TEST_CASE("functions, calls and branch tables are kept") {
  const Module module = parsed(
      ".func (.param .b32 result) f(.param .b32 x);\n"
      ".func (.param .b32 result) f(.param .b32 x) { ret; }\n"
      ".entry k() .maxntid 128, 2, 1 .minnctapersm 2 {\n"
      ".reg .b32 %i;\n.param .b32 a; .param .b32 r;\n"
      "call.uni (r), f, (a);\n"
      "t: .branchtargets A, B;\n"
      "brx.idx.uni %i, t;\nA: ret;\nB: ret;\n}");
  REQUIRE(module.functions.size() == 2);
  CHECK(module.functions[0].is_defined);
  CHECK(module.functions[0].num_results == 1);
  const Function& kernel = module.functions[1];
  CHECK(kernel.threads_max == 256);
  CHECK(kernel.threads[0] == 0);
  CHECK(kernel.instructions[0].operands[0].kind == OperandKind::kList);
  CHECK(kernel.instructions[1].operands[1].kind == OperandKind::kTable);
  REQUIRE(kernel.tables.size() == 1);
  CHECK(kernel.tables[0].labels[1].index == 3);
}

TEST_CASE("numbers are integers, floats in hexadecimal, or decimals") {
  const auto bits = [](const std::string& number) {
    return body(".reg .b64 %d;\nmov.b64 %d, " + number + ";").instructions[0].operands[1].bits;
  };
  CHECK(bits("0x1F") == 31);
  CHECK(bits("017") == 15);
  CHECK(bits("0b101") == 5);
  CHECK(bits("-2") == ~std::uint64_t{1});
  CHECK(bits("18446744073709551615U") == ~std::uint64_t{0});
  CHECK(bits("0f3F800000") == 0x3f800000);
  CHECK(bits("-0f3F800000") == 0xbf800000);
  CHECK(bits("0d3FF0000000000000") == 0x3ff0000000000000);
  CHECK(bits("1.0") == 0x3ff0000000000000);
  CHECK(bits("1.") == 0x3ff0000000000000);
  CHECK(bits("-0.") == 0x8000000000000000);
  CHECK(bits("1.5e1") == 0x402e000000000000);
}

TEST_CASE("text that is not PTX is refused, and the message names the line or the error") {
  const auto refuses = [](const std::string& text, const std::string& why) {
    INFO(text);
    CHECK_THAT(error_of(text), ContainsSubstring(why));
  };
  refuses("", "line 1: expected '.version', got the end of the text");
  refuses(
      "\x7f"
      "ELF\x02",
      "line 1: expected '.version', got a character that PTX does not have");
  refuses(".version 5.9\n.target sm_80", "expected a PTX version from 6.0 to 9.x, got '5.9'");
  refuses(".version 99.0\n.target sm_80", "expected a PTX version");
  refuses(".version 8.0\n.target gfx90a", "line 2: expected 'sm_' and a number");
  refuses(".version 8.0\n.target sm_80\n.address_size 32", "line 3: expected .address_size 64");
  refuses(kHeader + ".entry k() {\n add.s32 ", "line 5: expected an operand, got the end");
  refuses(kHeader + ".entry k() {\n ret;", "line 5: expected an instruction, got the end");
  refuses(kHeader + ".entry k() .reqntid 0 { ret; }", "expected 1 to 3 positive numbers");
  refuses(kHeader + ".entry k() .reqntid 1, 2, 3, 4 { ret; }", "expected 1 to 3 positive");
  refuses(kHeader + ".entry k() .reqntid 70000, 70000 { ret; }", "too many threads");
  refuses(kHeader + ".entry k() { @%p1 ret; }", "is no predicate register");
  refuses(kHeader + ".entry k() { L: L: ret; }", "label 'L' is defined twice");
  refuses(kHeader + ".entry k() { ret; } .entry k() { ret; }", "'k' is defined twice");
  refuses(kHeader + ".global .u8 x[99999999999999999];", "expected an integer of at most");
  refuses(kHeader + ".global .u64 x[1099511627776];", "'x' is too large");
  refuses(kHeader + ".global .u8 x[2] = {1, 2, 3};", "more initial values than elements");
  refuses(kHeader + "/* without an end", "a comment without an end");
  refuses(kHeader + ".file 1 \"no end\n", "a string without an end");
  refuses(kHeader + ".entry k() " + std::string(100, '{'), "scopes nest too deeply");
  refuses(kHeader + ".entry k() { mov.b32 " + std::string(100, '{'), "operands nest too deeply");
  refuses(kHeader + ".entry k() { .reg .b32 %r<99999999>; }", "expected an integer of at most");
}

TEST_CASE("every beginning of a module is refused or parsed, and so is a megabyte of nonsense") {
  const std::string text =
      kHeader +
      ".entry k(.param .u64 out) {\n.reg .b32 %r<4>;\n"
      "@%p1 ld.v2.u32 {%r1, %r2}, [out+4];\nt: .branchtargets A;\nA: ret;\n}\n";
  for (std::size_t length = 0; length < text.size(); ++length) {
    static_cast<void>(parse(std::string_view(text).substr(0, length)).is_ok());
  }
  std::string nonsense = kHeader;
  for (std::uint32_t state = 1; nonsense.size() < (1 << 20);) {
    state = state * 1664525 + 1013904223;
    nonsense += static_cast<char>(state >> 24);
  }
  CHECK_FALSE(parse(nonsense).is_ok());
  std::string deep = kHeader;
  while (deep.size() < (1 << 20)) deep += ".global .u8 x = {";
  CHECK_FALSE(parse(deep).is_ok());
}

}  // namespace
}  // namespace recto::ptx::text
