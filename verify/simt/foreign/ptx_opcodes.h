#pragma once

// The PTX instructions that run on the executor, known at compile time.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace simt_foreign {

enum class PtxOpcode : std::uint8_t {
  kAddF16,
  kSubF16,
  kMulF16,
  kFmaF16,
  kAddF16x2,
  kSubF16x2,
  kMulF16x2,
  kFmaF16x2,
  kAddF32,
  kMulF32,
  kFmaF32,
  kFloatFromHalf,
  kHalfFromFloat,
  kTwoHalvesFromFloats,
  kMove,
};

struct PtxInstruction {
  std::string_view name;
  PtxOpcode opcode;
  int sources;
};

// PTX ISA 8.0, half precision floating point, conversion and data movement instructions. An
// instruction without a rounding in its name rounds to nearest even, like .rn; subnormals are kept.
inline constexpr std::array kPtxInstructions = {
    PtxInstruction{"add.f16", PtxOpcode::kAddF16, 2},
    PtxInstruction{"add.rn.f16", PtxOpcode::kAddF16, 2},
    PtxInstruction{"sub.f16", PtxOpcode::kSubF16, 2},
    PtxInstruction{"sub.rn.f16", PtxOpcode::kSubF16, 2},
    PtxInstruction{"mul.f16", PtxOpcode::kMulF16, 2},
    PtxInstruction{"mul.rn.f16", PtxOpcode::kMulF16, 2},
    PtxInstruction{"fma.rn.f16", PtxOpcode::kFmaF16, 3},
    PtxInstruction{"add.f16x2", PtxOpcode::kAddF16x2, 2},
    PtxInstruction{"add.rn.f16x2", PtxOpcode::kAddF16x2, 2},
    PtxInstruction{"sub.f16x2", PtxOpcode::kSubF16x2, 2},
    PtxInstruction{"sub.rn.f16x2", PtxOpcode::kSubF16x2, 2},
    PtxInstruction{"mul.f16x2", PtxOpcode::kMulF16x2, 2},
    PtxInstruction{"mul.rn.f16x2", PtxOpcode::kMulF16x2, 2},
    PtxInstruction{"fma.rn.f16x2", PtxOpcode::kFmaF16x2, 3},
    PtxInstruction{"add.f32", PtxOpcode::kAddF32, 2},
    PtxInstruction{"add.rn.f32", PtxOpcode::kAddF32, 2},
    PtxInstruction{"mul.f32", PtxOpcode::kMulF32, 2},
    PtxInstruction{"mul.rn.f32", PtxOpcode::kMulF32, 2},
    PtxInstruction{"fma.rn.f32", PtxOpcode::kFmaF32, 3},
    PtxInstruction{"cvt.f32.f16", PtxOpcode::kFloatFromHalf, 1},
    PtxInstruction{"cvt.rn.f16.f32", PtxOpcode::kHalfFromFloat, 1},
    PtxInstruction{"cvt.rn.f16x2.f32", PtxOpcode::kTwoHalvesFromFloats, 2},
    PtxInstruction{"mov.b16", PtxOpcode::kMove, 1},
    PtxInstruction{"mov.b32", PtxOpcode::kMove, 1},
    PtxInstruction{"mov.u32", PtxOpcode::kMove, 1},
    PtxInstruction{"mov.f32", PtxOpcode::kMove, 1},
    PtxInstruction{"mov.b64", PtxOpcode::kMove, 1},
};

// (With g++ under UBSan, a pointer would not be a constant.)
constexpr std::optional<PtxInstruction> find_ptx(std::string_view name) {
  for (const PtxInstruction& instruction : kPtxInstructions) {
    if (instruction.name == name) return instruction;
  }
  return std::nullopt;
}

constexpr bool is_ptx_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view trim_ptx(std::string_view text) {
  while (!text.empty() && is_ptx_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_ptx_space(text.back())) text.remove_suffix(1);
  return text;
}

// Removes the next statement from `text` and returns it without its semicolon. Braces around
// statements are only scopes, and are dropped; those of a vector operand, as in {%1, %2}, stay.
constexpr std::string_view next_ptx_statement(std::string_view& text) {
  text = trim_ptx(text);
  while (!text.empty() && (text.front() == '{' || text.front() == '}' || text.front() == ';')) {
    text = trim_ptx(text.substr(1));
  }
  const std::size_t end = text.find(';');
  const std::string_view statement = trim_ptx(text.substr(0, end));
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return statement;
}

// The first word of a statement.
constexpr std::string_view ptx_name(std::string_view statement) {
  std::size_t end = 0;
  while (end < statement.size() && !is_ptx_space(statement[end])) ++end;
  return statement.substr(0, end);
}

// Removes the next operand from `text` and returns it. Operands are separated by commas outside
// braces.
constexpr std::string_view next_ptx_operand(std::string_view& text) {
  std::size_t end = 0;
  for (int depth = 0; end < text.size() && (text[end] != ',' || depth > 0); ++end) {
    depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
  }
  const std::string_view operand = trim_ptx(text.substr(0, end));
  text = end == text.size() ? std::string_view() : text.substr(end + 1);
  return operand;
}

constexpr bool is_ptx_vector(std::string_view operand) {
  return operand.size() > 2 && operand.front() == '{' && operand.back() == '}';
}
constexpr std::string_view ptx_elements(std::string_view vector) {
  return vector.substr(1, vector.size() - 2);
}

// Whether `text` has only instructions of the table and declarations of registers.
constexpr bool is_known_ptx(std::string_view text) {
  for (;;) {
    const std::string_view statement = next_ptx_statement(text);
    if (statement.empty()) return true;
    if (ptx_name(statement) != ".reg" && !find_ptx(ptx_name(statement))) return false;
  }
}

}  // namespace simt_foreign
