#pragma once

// The PTX instructions that run on the executor, known at compile time.

#include <cstdint>
#include <optional>
#include <string_view>

namespace simt_foreign {

enum class PtxOperation : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kMultiplyAdd,
  kConvert,
  kMove
};
enum class PtxType : std::uint8_t { kF16, kF16x2, kF32, kBits };

struct PtxInstruction {
  std::string_view name;
  PtxOperation operation;
  PtxType type;  // of the result
  int sources;
};

// PTX ISA 8.0, half precision floating point, conversion and data movement instructions. An
// instruction without a rounding in its name rounds to nearest even, like .rn; subnormals are kept.
inline constexpr PtxInstruction kPtxInstructions[] = {
    {"add.f16", PtxOperation::kAdd, PtxType::kF16, 2},
    {"add.rn.f16", PtxOperation::kAdd, PtxType::kF16, 2},
    {"sub.f16", PtxOperation::kSubtract, PtxType::kF16, 2},
    {"sub.rn.f16", PtxOperation::kSubtract, PtxType::kF16, 2},
    {"mul.f16", PtxOperation::kMultiply, PtxType::kF16, 2},
    {"mul.rn.f16", PtxOperation::kMultiply, PtxType::kF16, 2},
    {"fma.rn.f16", PtxOperation::kMultiplyAdd, PtxType::kF16, 3},
    {"add.f16x2", PtxOperation::kAdd, PtxType::kF16x2, 2},
    {"add.rn.f16x2", PtxOperation::kAdd, PtxType::kF16x2, 2},
    {"sub.f16x2", PtxOperation::kSubtract, PtxType::kF16x2, 2},
    {"sub.rn.f16x2", PtxOperation::kSubtract, PtxType::kF16x2, 2},
    {"mul.f16x2", PtxOperation::kMultiply, PtxType::kF16x2, 2},
    {"mul.rn.f16x2", PtxOperation::kMultiply, PtxType::kF16x2, 2},
    {"fma.rn.f16x2", PtxOperation::kMultiplyAdd, PtxType::kF16x2, 3},
    {"add.f32", PtxOperation::kAdd, PtxType::kF32, 2},
    {"add.rn.f32", PtxOperation::kAdd, PtxType::kF32, 2},
    {"mul.f32", PtxOperation::kMultiply, PtxType::kF32, 2},
    {"mul.rn.f32", PtxOperation::kMultiply, PtxType::kF32, 2},
    {"fma.rn.f32", PtxOperation::kMultiplyAdd, PtxType::kF32, 3},
    {"cvt.f32.f16", PtxOperation::kConvert, PtxType::kF32, 1},
    {"cvt.rn.f16.f32", PtxOperation::kConvert, PtxType::kF16, 1},
    {"cvt.rn.f16x2.f32", PtxOperation::kConvert, PtxType::kF16x2, 2},
    {"mov.b16", PtxOperation::kMove, PtxType::kBits, 1},
    {"mov.b32", PtxOperation::kMove, PtxType::kBits, 1},
    {"mov.u32", PtxOperation::kMove, PtxType::kBits, 1},
    {"mov.f32", PtxOperation::kMove, PtxType::kBits, 1},
    {"mov.b64", PtxOperation::kMove, PtxType::kBits, 1},
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
