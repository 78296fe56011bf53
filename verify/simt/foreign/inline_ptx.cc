#include "verify/simt/foreign/inline_ptx.h"

#include <cuda_fp16.h>

#include <algorithm>
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

template <typename T>
T apply(PtxOperation operation, const T (&x)[3]) {
  switch (operation) {
    case PtxOperation::kAdd:
      return x[0] + x[1];
    case PtxOperation::kSubtract:
      return x[0] - x[1];
    case PtxOperation::kMultiply:
      return x[0] * x[1];
    case PtxOperation::kMultiplyAdd:
      return std::fma(x[0], x[1], x[2]);
    case PtxOperation::kConvert:
    case PtxOperation::kMove:
      break;
  }
  RECTO_UNREACHABLE("only arithmetic is applied");
}

std::uint64_t convert(PtxType to, std::span<const std::uint64_t> in) {
  if (to == PtxType::kF32) return float_bits(static_cast<float>(half_value(in[0])));
  if (to == PtxType::kF16) return half_bits(float_value(in[0]));
  // The first source goes to the upper half.
  return half_bits(float_value(in[0])) << 16 | half_bits(float_value(in[1]));
}

std::uint64_t compute(const PtxInstruction& instruction, std::span<const std::uint64_t> in) {
  const auto [name, operation, type, sources] = instruction;
  if (operation == PtxOperation::kMove) return in[0];
  if (operation == PtxOperation::kConvert) return convert(type, in);
  if (type == PtxType::kF32) {
    float x[3] = {};
    std::ranges::transform(in, x, float_value);
    return float_bits(apply(operation, x));
  }
  std::uint64_t result = 0;
  for (unsigned half = 0; half < (type == PtxType::kF16 ? 1 : 2); ++half) {
    double x[3] = {};
    std::ranges::transform(in, x,
                           [half](std::uint64_t bits) { return half_value(bits >> 16 * half); });
    result |= half_bits(apply(operation, x)) << 16 * half;
  }
  return result;
}

// Which bits of a result the tainted bits of its sources reach.
std::uint64_t tainted_by(const PtxInstruction& instruction, std::span<const std::uint64_t> in) {
  if (instruction.operation == PtxOperation::kMove) return in[0];
  const auto all_if = [](std::uint64_t any, std::uint64_t all) { return any != 0 ? all : 0; };
  std::uint64_t any = 0;
  for (const std::uint64_t source : in) any |= source;
  const bool is_conversion = instruction.operation == PtxOperation::kConvert;
  switch (instruction.type) {
    case PtxType::kF32:
      return all_if(is_conversion ? any & 0xffff : any, 0xffffffff);
    case PtxType::kF16:
      return all_if(any & (is_conversion ? 0xffffffff : 0xffff), 0xffff);
    case PtxType::kF16x2:
      if (!is_conversion)
        return all_if(any & 0xffff, 0xffff) | all_if(any & 0xffff0000, 0xffff0000);
      return all_if(in[0] & 0xffffffff, 0xffff0000) | all_if(in[1] & 0xffffffff, 0xffff);
    case PtxType::kBits:
      break;
  }
  RECTO_UNREACHABLE("all types are listed");
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
    assign(parts[0], {compute(*instruction, in), tainted_by(*instruction, tainted)},
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

  // A declared name may also begin with %, but not if only digits follow.
  PtxValue& place(std::string_view name) {
    const std::optional<std::size_t> given = ptx_given(name);
    if (!given) return registers_[std::string(name)];
    RECTO_CHECK_LT(*given, values_.size());
    return values_[*given];
  }

  // The value of an operand; a vector's as `width` bits.
  PtxValue value(std::string_view text, unsigned width) {
    if (const auto number = ptx_number(text)) return {*number};
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
