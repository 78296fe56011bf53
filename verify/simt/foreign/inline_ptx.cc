#include "verify/simt/foreign/inline_ptx.h"

#include <cuda_fp16.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/contract.h"

namespace simt_foreign {
namespace {

double half_value(std::uint64_t bits) {
  const __half_raw raw = {static_cast<unsigned short>(bits)};
  return static_cast<double>(__half2float(__half(raw)));
}

// Sums and products of halves are exact in a double, or so close that this rounding is the right
// one: 53 bits hold any sum of a product of two halves and a third that does not overflow, but for
// terms that are too small to matter.
std::uint64_t half_bits(double value) { return static_cast<__half_raw>(__double2half(value)).x; }

float float_value(std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof value);
  return value;
}

std::uint64_t float_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <typename Operation>
std::uint64_t on_both_halves(Operation operation, std::span<const std::uint64_t> in) {
  std::uint64_t result = 0;
  for (unsigned half = 0; half < 2; ++half) {
    double values[3] = {};
    for (std::size_t i = 0; i < in.size(); ++i) values[i] = half_value(in[i] >> 16 * half & 0xffff);
    result |= half_bits(operation(values[0], values[1], values[2])) << 16 * half;
  }
  return result;
}

double add(double a, double b, double) { return a + b; }
double subtract(double a, double b, double) { return a - b; }
double multiply(double a, double b, double) { return a * b; }
double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }

std::uint64_t compute(PtxOpcode opcode, std::span<const std::uint64_t> in) {
  const auto on_halves = [in](auto operation) { return on_both_halves(operation, in); };
  const auto on_half = [in](auto operation) { return on_both_halves(operation, in) & 0xffff; };
  switch (opcode) {
    case PtxOpcode::kAddF16:
      return on_half(add);
    case PtxOpcode::kSubF16:
      return on_half(subtract);
    case PtxOpcode::kMulF16:
      return on_half(multiply);
    case PtxOpcode::kFmaF16:
      return on_half(multiply_add);
    case PtxOpcode::kAddF16x2:
      return on_halves(add);
    case PtxOpcode::kSubF16x2:
      return on_halves(subtract);
    case PtxOpcode::kMulF16x2:
      return on_halves(multiply);
    case PtxOpcode::kFmaF16x2:
      return on_halves(multiply_add);
    case PtxOpcode::kAddF32:
      return float_bits(float_value(in[0]) + float_value(in[1]));
    case PtxOpcode::kMulF32:
      return float_bits(float_value(in[0]) * float_value(in[1]));
    case PtxOpcode::kFmaF32:
      return float_bits(std::fma(float_value(in[0]), float_value(in[1]), float_value(in[2])));
    case PtxOpcode::kFloatFromHalf:
      return float_bits(static_cast<float>(half_value(in[0])));
    case PtxOpcode::kHalfFromFloat:
      return half_bits(float_value(in[0]));
    case PtxOpcode::kTwoHalvesFromFloats:
      // The first source goes to the upper half.
      return half_bits(float_value(in[0])) << 16 | half_bits(float_value(in[1]));
    case PtxOpcode::kMove:
      return in[0];
  }
  RECTO_UNREACHABLE("all opcodes are listed");
}

// One run of a text: its operands, and the registers that it declares.
class PtxRun {
 public:
  explicit PtxRun(std::span<PtxOperand> operands) : operands_(operands) {}

  void execute(std::string_view statement) {
    const std::string_view name = ptx_name(statement);
    if (name == ".reg") return;  // registers come into being where they are written
    const std::vector<std::string_view> parts = split(statement.substr(name.size()));
    const std::optional<PtxInstruction> instruction = find_ptx(name);
    RECTO_CHECK_EQ(std::ssize(parts), instruction->sources + 1);
    std::vector<std::uint64_t> in;
    for (std::size_t i = 1; i < parts.size(); ++i) in.push_back(value(parts[i], width_of(name)));
    assign(parts[0], compute(instruction->opcode, in), width_of(name));
  }

 private:
  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) parts.push_back(next_ptx_operand(text));
    return parts;
  }

  // Bits of what an instruction writes: its last type, but for conversions the one before.
  static unsigned width_of(std::string_view name) {
    if (name.substr(0, 4) == "cvt.") name = name.substr(0, name.rfind('.'));
    const std::string_view type = name.substr(name.rfind('.') + 1);
    return type == "f16" || type == "b16" ? 16 : type == "b64" ? 64 : 32;
  }

  static std::uint64_t lowest(std::uint64_t bits, unsigned width) {
    return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
  }

  std::uint64_t& place(std::string_view name) {
    // A declared name may begin with %, too, but not go on with digits alone.
    if (name.front() != '%' || !are_ptx_digits(name.substr(1), PtxBase::kTen)) {
      return registers_[std::string(name)];
    }
    std::size_t number = operands_.size();
    std::from_chars(name.data() + 1, name.data() + name.size(), number);
    RECTO_CHECK_LT(number, operands_.size());
    return operands_[number].bits;
  }

  static std::uint64_t number(std::string_view text) {
    const bool is_negative = text.front() == '-';
    if (is_negative) text.remove_prefix(1);
    const bool is_hex = text.size() > 2 && !is_ptx_digit(text[1], PtxBase::kTen);
    const std::string_view digits = is_hex ? text.substr(2) : text;
    std::uint64_t bits = 0;
    const auto end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, bits, is_hex ? 16 : 10);
    RECTO_CHECK(read.ptr == end);
    return is_negative ? 0 - bits : bits;
  }

  // As `width` bits, where it is a vector.
  std::uint64_t value(std::string_view text, unsigned width) {
    if (is_ptx_number(text)) return number(text);
    if (!is_ptx_vector(text)) return place(text);
    // The first element is the lowest.
    const std::vector<std::string_view> parts = split(ptx_elements(text));
    const auto part = static_cast<unsigned>(width / parts.size());
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      bits |= lowest(value(parts[i], part), part) << part * i;
    }
    return bits;
  }

  void assign(std::string_view text, std::uint64_t bits, unsigned width) {
    if (!is_ptx_vector(text)) {
      place(text) = lowest(bits, width);
      return;
    }
    const std::vector<std::string_view> parts = split(ptx_elements(text));
    const auto part = static_cast<unsigned>(width / parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) place(parts[i]) = lowest(bits >> part * i, part);
  }

  std::span<PtxOperand> operands_;
  std::map<std::string, std::uint64_t> registers_;
};

}  // namespace

void run_ptx(std::string_view text, std::span<PtxOperand> operands) {
  PtxRun run(operands);
  for (;;) {
    const std::string_view statement = next_ptx_statement(text);
    if (statement.empty()) return;
    run.execute(statement);
  }
}

}  // namespace simt_foreign
