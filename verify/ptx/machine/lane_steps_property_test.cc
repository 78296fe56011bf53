// Random straight-line programs give what the same program gives in plain C++, one lane after the
// other.

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "bazel/testing/property.h"
#include "verify/ptx/testing/host_operations.h"
#include "verify/ptx/testing/ptx_run.h"

namespace recto::ptx {
namespace {

using Bits = std::uint64_t;

constexpr std::string_view kKinds = "hrdp";
constexpr int kRegisters = 4;  // of each kind
// One lane's registers, by kind.
using Lane = std::array<std::array<Bits, kRegisters>, kKinds.size()>;

std::size_t index_of(char kind) { return kKinds.find(kind); }
Bits cut(char kind, Bits bits) {
  return kind == 'h'   ? bits & 0xffff
         : kind == 'r' ? bits & 0xffffffff
         : kind == 'p' ? bits & 1
                       : bits;
}

struct Instruction {
  std::size_t operation = 0;
  std::array<int, 4> registers = {};
  int guard = 0;  // 0: none; i: @%p(i - 1); -i: @!%p(i - 1)

  std::string text() const {
    const HostOperation& does = host_operations()[operation];
    std::string text;
    for (std::size_t i = 0; i < does.text.size(); ++i) {
      if (does.text[i] == '#') {
        if (guard > 0) text += "@%p" + std::to_string(guard - 1);
        if (guard < 0) text += "@!%p" + std::to_string(-guard - 1);
      } else if (does.text[i] == '$') {
        const auto operand = static_cast<std::size_t>(does.text[++i] - '0');
        text += std::string("%") + does.kinds[operand] + std::to_string(registers[operand]);
      } else {
        text += does.text[i];
      }
    }
    return text;
  }

  void run(Lane& lane) const {
    if (guard > 0 && lane[index_of('p')][static_cast<std::size_t>(guard - 1)] == 0) return;
    if (guard < 0 && lane[index_of('p')][static_cast<std::size_t>(-guard - 1)] != 0) return;
    const HostOperation& does = host_operations()[operation];
    const auto at = [&](std::size_t i) -> Bits& {
      return lane[index_of(does.kinds[i])][static_cast<std::size_t>(registers[i])];
    };
    std::array<Bits, 3> x = {};
    for (std::size_t i = 1; i < does.kinds.size(); ++i) x[i - 1] = at(i);
    at(0) = cut(does.kinds[0], does.result(x.data()));
  }
};

std::ostream& operator<<(std::ostream& out, const Instruction& instruction) {
  return out << instruction.text();
}

Instruction draw_instruction(Draw& draw) {
  Instruction made;
  made.operation = draw.uniform<std::size_t>(0, host_operations().size() - 1);
  for (int& reg : made.registers) reg = draw.uniform<int>(0, kRegisters - 1);
  made.guard = draw.boolean() ? 0 : draw.uniform<int>(-kRegisters, kRegisters);
  return made;
}

// Values that numbers of each format make interesting, or any.
Bits draw_word(Draw& draw) {
  if (draw.boolean("is any")) return draw.uniform<Bits>(0, 0xffffffff);
  return draw.element<Bits>({0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000,
                             0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x807fffff,
                             0x00800000, 0x7f7fffff, 0x3c003c00, 0xbc017bff, 0x04000001, 0x7c00fc00,
                             0x42280000, 0x4b800001, 0x33800000, 0x3f803f80, 0x3fc0bf81, 31,
                             32,         33,         0xffff});
}

std::string load_and_store(const std::string& operation) {
  std::string text;
  const auto name = [](char kind, int i) { return std::string("%") + kind + std::to_string(i); };
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
    for (int i = 0; i < kRegisters; ++i) {
      const std::string place =
          "[%a+" + std::to_string(8 * (kind * kRegisters + static_cast<std::size_t>(i))) + "]";
      const std::string bits = kKinds[kind] == 'h' ? "16" : kKinds[kind] == 'd' ? "64" : "32";
      const bool is_predicate = kKinds[kind] == 'p';
      const std::string reg = is_predicate ? "%t" : name(kKinds[kind], i);
      const std::string moves = operation + ".global.b" + bits + " ";
      if (operation == "ld") {
        text += moves + reg + ", " + place + ";\n";
        if (is_predicate) text += "setp.ne.u32 " + name('p', i) + ", %t, 0;\n";
      } else {
        if (is_predicate) text += "selp.b32 %t, 1, 0, " + name('p', i) + ";\n";
        text += moves + place + ", " + reg + ";\n";
      }
    }
  }
  return text;
}

// All lanes' registers afterwards.
std::vector<Lane> run(const std::vector<Instruction>& program, std::vector<Lane> lanes,
                      std::string* report) {
  TestKernel kernel;
  kernel.body =
      ".reg .b16 %h<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n.reg .pred %p<4>;\n.reg .b32 %t;\n"
      ".reg .b64 %a;\n.reg .b64 %b;\nld.param.u64 %a, [out];\nmov.u32 %t, %tid.x;\n"
      "mul.wide.u32 %b, %t, " +
      std::to_string(sizeof(Lane)) + ";\nadd.s64 %a, %a, %b;\n" + load_and_store("ld");
  for (const Instruction& instruction : program) kernel.body += instruction.text() + "\n";
  kernel.body += load_and_store("st") + "ret;";
  DeviceMemory memory;
  memory.add("lanes", lanes.data(), lanes.size() * sizeof(Lane));
  const auto threads = static_cast<std::uint32_t>(lanes.size());
  *report = LoadedKernel(kernel)
                .run({{}, {threads, 1, 1}, 0}, Arguments().add(lanes.data()), memory,
                     {.checks = Checks::all()})
                .text();
  return lanes;
}

TEST_CASE("random straight-line programs give what they give in C++") {
  property("on every lane", [](Draw& draw) {
    const auto program = draw.nonempty_list(
        [](Draw& one) {
          return one.composite("instruction", [](Draw& part) { return draw_instruction(part); });
        },
        "program");
    const auto words =
        draw.list_of(3 * kKinds.size() * kRegisters, [](Draw& one) { return draw_word(one); });
    std::vector<Lane> lanes(3);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t kind = i / kRegisters % kKinds.size();
      const Bits wide = words[i] << 32 | words[(i + 1) % words.size()];
      lanes[i / (kRegisters * kKinds.size())][kind][i % kRegisters] =
          cut(kKinds[kind], kKinds[kind] == 'd' ? wide : words[i]);
    }
    std::vector<Lane> expected = lanes;
    for (Lane& lane : expected) {
      for (const Instruction& instruction : program) instruction.run(lane);
    }
    std::string report;
    const std::vector<Lane> got = run(program, lanes, &report);
    RECTO_REQUIRE(report == "");
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      for (std::size_t kind = 0; kind < kKinds.size(); ++kind) {
        for (std::size_t reg = 0; reg < kRegisters; ++reg) {
          const std::string name = std::string("%") + kKinds[kind] + std::to_string(reg) + " = ";
          RECTO_REQUIRE(name + std::to_string(got[i][kind][reg]) ==
                        name + std::to_string(expected[i][kind][reg]));
        }
      }
    }
  });
}

}  // namespace
}  // namespace recto::ptx
