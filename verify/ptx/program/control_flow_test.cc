// Blocks, post-dominators and liveness of small kernels.

#include "verify/ptx/program/control_flow.h"

#include <map>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/ptx/program/decoder.h"
#include "verify/ptx/program/layout.h"
#include "verify/ptx/program/liveness.h"
#include "verify/ptx/text/parser.h"

namespace recto::ptx {
namespace {

Draft draft_of(const std::string& body) {
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n"
      ".reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .b16 %h<9>;\n" +
      body + "\n}";
  const Result<text::Module> module = text::parse(text);
  REQUIRE(module.status() == Status::ok());
  const Symbols symbols;
  Result<Draft> draft = decode(module.value(), symbols, module.value().functions[0]);
  REQUIRE(draft.status() == Status::ok());
  return std::move(draft).value();
}

TEST_CASE("the two sides of a branch meet at its post-dominator") {
  const Draft draft = draft_of(
      "mov.u32 %r1, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;\nmov.u32 %r1, 1;\nbra B;\n"
      "A: mov.u32 %r1, 2;\nB: ret;");
  const ControlFlow flow = control_flow_of(draft.program);
  REQUIRE(flow.blocks.size() == 5);  // the last is the exit behind the end
  CHECK(flow.blocks[0].successors == std::vector<std::uint32_t>{2, 1});
  CHECK(flow.blocks[0].post_dominator == 3);
  CHECK(flow.blocks[1].post_dominator == 3);
  CHECK(flow.blocks[2].post_dominator == 3);
  CHECK(flow.blocks[3].post_dominator == kNoBlock);
}

TEST_CASE("a loop is left at its post-dominator, an endless one never") {
  const Draft loop = draft_of(
      "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra L;\nret;");
  const ControlFlow flow = control_flow_of(loop.program);
  CHECK(flow.blocks[1].post_dominator == 2);
  const Draft endless = draft_of("L: bra L;");
  CHECK(control_flow_of(endless.program).blocks[0].post_dominator == kNoBlock);
}

TEST_CASE("a value keeps its place as long as a loop needs it") {
  Draft draft = draft_of(
      "mov.u32 %r1, 5;\nmov.u32 %r2, 0;\nL: add.u32 %r2, %r2, %r1;\nadd.u32 %r3, %r2, 1;\n"
      "setp.lt.u32 %p1, %r3, 9;\n@%p1 bra L;\nret;");
  const ControlFlow flow = control_flow_of(draft.program);
  const Liveness liveness = liveness_of(draft, flow);
  CHECK(liveness.live_at_entry.empty());
  // Steps: 0 mov, 1 mov, 2 add, 3 add, 4 setp, 5 bra.
  const auto range = [&](std::uint32_t step) {
    return liveness.ranges[draft.program.steps[step].d];
  };
  CHECK(range(0).first == 0);
  CHECK(range(0).last == 5);
  CHECK(range(3).first == 3);
  CHECK(range(3).last == 4);
}

TEST_CASE("a value that some path reads before it is written is live at the entry") {
  Draft draft =
      draft_of("setp.eq.u32 %p1, 0, 0;\n@%p1 mov.u32 %r1, 1;\nadd.u32 %r2, %r1, 1;\nret;");
  const ControlFlow flow = control_flow_of(draft.program);
  const Liveness liveness = liveness_of(draft, flow);
  REQUIRE(liveness.live_at_entry.size() == 1);
  const Program program = layout(std::move(draft), {.tracks_undefined = true});
  CHECK(program.tracks_undefined);
  CHECK(program.steps[2].is_tracked);
  CHECK_FALSE(program.steps[0].is_tracked);
}

TEST_CASE("temporaries of guarded instructions, and what nobody reads, are not live at the entry") {
  for (const char* instruction :
       {"setp.lt.and.u32 %p2, %r1, 7, !%p1;", "setp.ne.u32 %p2|_, %r1, 1;",
        "mapa.u64 %rd2, %rd1, %r1;", "set.eq.f16x2.f16x2 %r2, %r1, %r1;", "mov.u32 %r2, %clock;",
        "cvt.u32.u8 %rd2, %rd1;", "atom.shared.add.u32 _, [%r1], 1;"}) {
    Draft draft = draft_of("mov.u32 %r1, 0;\nmov.u64 %rd1, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 " +
                           std::string(instruction) + "\nret;");
    INFO(instruction);
    CHECK(liveness_of(draft, control_flow_of(draft.program)).live_at_entry.empty());
    CHECK_FALSE(layout(std::move(draft), {.tracks_undefined = true}).tracks_undefined);
  }
}

TEST_CASE("places are shared by values that do not meet, and never across widths") {
  std::string body;
  for (int i = 0; i < 100; ++i) {
    body += "mov.u32 %r1, " + std::to_string(i) +
            ";\ncvt.u64.u32 %rd1, %r1;\n"
            "cvt.u16.u64 %h1, %rd1;\n";
  }
  std::string many;
  for (int i = 0; i < 100; ++i) many += "{ .reg .b32 %a;\nmov.u32 %a, 7;\nadd.u32 %a, %a, 7;\n}\n";
  const Program few = layout(draft_of(many + "ret;"), {});
  CHECK(few.register_bytes < 2000);
  const Program program = layout(draft_of(body + "ret;"), {});
  std::map<ValuePlace, Width> widths;
  for (const Step& step : program.steps) {
    if (step.action != Action::kLanes) continue;
    CHECK(widths.emplace(step.d, step.d_width).first->second == step.d_width);
  }
}

TEST_CASE("straight runs end where lanes may meet") {
  const Program program = layout(
      draft_of("mov.u32 %r1, 0;\nmov.u32 %r2, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;\n"
               "mov.u32 %r1, 1;\nmov.u32 %r1, 2;\nA: mov.u32 %r1, 3;\nmov.u32 %r1, 4;\nret;"),
      {});
  CHECK(program.steps[0].straight == 3);
  CHECK(program.steps[3].join == 6);
  CHECK(program.steps[4].straight == 2);
  CHECK(program.steps[6].is_join);
  CHECK(program.steps[6].straight == 2);
}

}  // namespace
}  // namespace recto::ptx
