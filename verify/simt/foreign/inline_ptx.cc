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

// Sums and products of halves are exact in a double, or so close that this rounding is correct: 53
// bits hold any sum of a product of two halves and a third that does not overflow, except for terms
// that are too small to matter.
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

// Which bits of a result the tainted bits of its sources reach.
std::uint64_t tainted_by(PtxOpcode opcode, std::span<const std::uint64_t> in) {
  const auto all_if = [](std::uint64_t any, std::uint64_t all) { return any != 0 ? all : 0; };
  std::uint64_t any = 0;
  for (const std::uint64_t source : in) any |= source;
  switch (opcode) {
    case PtxOpcode::kMove:
      return in[0];
    case PtxOpcode::kAddF32:
    case PtxOpcode::kMulF32:
    case PtxOpcode::kFmaF32:
      return all_if(any, 0xffffffff);
    case PtxOpcode::kFloatFromHalf:
      return all_if(any & 0xffff, 0xffffffff);
    case PtxOpcode::kHalfFromFloat:
      return all_if(any & 0xffffffff, 0xffff);
    case PtxOpcode::kTwoHalvesFromFloats:
      return all_if(in[0] & 0xffffffff, 0xffff0000) | all_if(in[1] & 0xffffffff, 0xffff);
    default:
      // Halves are independent; for a single one the upper is dropped.
      return all_if(any & 0xffff, 0xffff) | all_if(any & 0xffff0000, 0xffff0000);
  }
}

// What a register or an operand holds.
struct PtxValue {
  std::uint64_t bits = 0;
  std::uint64_t tainted = 0;
};

// One run of a text: its operands, and the registers that it declares.
class PtxRun {
 public:
  explicit PtxRun(std::span<PtxOperand> operands) : operands_(operands) {
    for (const PtxOperand& operand : operands) values_.push_back({operand.bits, operand.tainted});
  }

  void store() const {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      operands_[i].bits = values_[i].bits;
      operands_[i].tainted = values_[i].tainted;
    }
  }

  void execute(std::string_view statement) {
    const std::string_view name = ptx_name(statement);
    if (name == ".reg") return;  // registers are created when they are written
    const std::vector<std::string_view> parts = split(statement.substr(name.size()));
    const std::optional<PtxInstruction> instruction = find_ptx(name);
    RECTO_CHECK_EQ(std::ssize(parts), instruction->sources + 1);
    std::vector<std::uint64_t> in;
    std::vector<std::uint64_t> tainted;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const PtxValue source = value(parts[i], width_of(name));
      in.push_back(source.bits);
      tainted.push_back(source.tainted);
    }
    assign(parts[0], {compute(instruction->opcode, in), tainted_by(instruction->opcode, tainted)},
           width_of(name));
  }

 private:
  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    while (!text.empty()) parts.push_back(next_ptx_operand(text));
    return parts;
  }

  // The width of what an instruction writes: its last type or, for conversions, the one before.
  static unsigned width_of(std::string_view name) {
    if (name.substr(0, 4) == "cvt.") name = name.substr(0, name.rfind('.'));
    const std::string_view type = name.substr(name.rfind('.') + 1);
    return type == "f16" || type == "b16" ? 16 : type == "b64" ? 64 : 32;
  }

  static std::uint64_t lowest(std::uint64_t bits, unsigned width) {
    return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
  }

  PtxValue& place(std::string_view name) {
    // A declared name may also begin with %, but not if only digits follow.
    if (name.front() != '%' || !are_ptx_digits(name.substr(1), PtxBase::kTen)) {
      return registers_[std::string(name)];
    }
    std::size_t number = values_.size();
    std::from_chars(name.data() + 1, name.data() + name.size(), number);
    RECTO_CHECK_LT(number, values_.size());
    return values_[number];
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

  // The value of an operand; a vector's as `width` bits.
  PtxValue value(std::string_view text, unsigned width) {
    if (is_ptx_number(text)) return {number(text)};
    if (!is_ptx_vector(text)) return place(text);
    // The first element is the lowest.
    const std::vector<std::string_view> parts = split(ptx_elements(text));
    const auto part = static_cast<unsigned>(width / parts.size());
    PtxValue whole;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const PtxValue element = value(parts[i], part);
      whole.bits |= lowest(element.bits, part) << part * i;
      whole.tainted |= lowest(element.tainted, part) << part * i;
    }
    return whole;
  }

  void assign(std::string_view text, const PtxValue& whole, unsigned width) {
    if (!is_ptx_vector(text)) {
      place(text) = {lowest(whole.bits, width), lowest(whole.tainted, width)};
      return;
    }
    const std::vector<std::string_view> parts = split(ptx_elements(text));
    const auto part = static_cast<unsigned>(width / parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      place(parts[i]) = {lowest(whole.bits >> part * i, part),
                         lowest(whole.tainted >> part * i, part)};
    }
  }

  std::span<PtxOperand> operands_;
  std::vector<PtxValue> values_;  // of the operands
  std::map<std::string, PtxValue> registers_;
};

}  // namespace

void run_ptx(std::string_view text, std::span<PtxOperand> operands) {
  PtxRun run(operands);
  for (;;) {
    const std::string_view statement = next_ptx_statement(text);
    if (statement.empty()) return run.store();
    run.execute(statement);
  }
}

}  // namespace simt_foreign
