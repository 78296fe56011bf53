#include "verify/simt/foreign/inline_ptx.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <optional>
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

// The bits of a result that depend on the tainted bits of its sources.
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

// The value of a register or an operand.
struct PtxValue {
  std::uint64_t bits = 0;
  std::uint64_t tainted = 0;
};

std::uint64_t lowest(std::uint64_t bits, unsigned width) {
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

// The value of an operand; for a vector, its `width` bits.
PtxValue value_of(const PtxParsed& operand, unsigned width, std::span<const PtxValue> places) {
  const auto value = [places](const PtxElement& element) {
    return element.place < 0 ? PtxValue{element.number}
                             : places[static_cast<std::size_t>(element.place)];
  };
  if (operand.count == 1) return value(operand.elements[0]);
  const unsigned part = width / operand.count;
  PtxValue whole;
  for (unsigned i = 0; i < operand.count; ++i) {
    const PtxValue element = value(operand.elements[i]);
    whole.bits |= lowest(element.bits, part) << part * i;
    whole.tainted |= lowest(element.tainted, part) << part * i;
  }
  return whole;
}

void execute(const PtxStatement& statement, std::span<PtxValue> places) {
  std::uint64_t in[3] = {};
  std::uint64_t tainted[3] = {};
  const auto sources = static_cast<std::size_t>(statement.instruction.sources);
  for (std::size_t i = 0; i < sources; ++i) {
    const PtxValue source = value_of(statement.operands[i + 1], statement.width, places);
    in[i] = source.bits;
    tainted[i] = source.tainted;
  }
  const std::uint64_t bits = compute(statement.instruction, {in, sources});
  const std::uint64_t tainted_bits = tainted_by(statement.instruction, {tainted, sources});
  const PtxParsed& to = statement.operands[0];
  const unsigned part = statement.width / to.count;
  for (unsigned i = 0; i < to.count; ++i) {
    places[static_cast<std::size_t>(to.elements[i].place)] = {
        lowest(bits >> part * i, part), lowest(tainted_bits >> part * i, part)};
  }
}

}  // namespace

void run_ptx(std::string_view text, std::span<PtxOperand> operands) {
  // The asm statement's operands, then the registers.
  std::vector<PtxValue> places;
  for (const PtxOperand& operand : operands) places.push_back({operand.bits, operand.tainted});
  std::string_view rest = text;
  for (;;) {
    const std::string_view statement = next_ptx_statement(rest);
    if (statement.empty()) break;
    if (ptx_name(statement) == ".reg") continue;
    const std::optional<PtxStatement> parsed = parse_ptx(text, statement, operands.size());
    RECTO_CHECK(parsed.has_value());
    for (const PtxParsed& operand : parsed->operands) {
      for (const PtxElement& element : operand.elements) {
        const auto needed = static_cast<std::size_t>(element.place + 1);
        places.resize(std::max(places.size(), needed));
      }
    }
    execute(*parsed, places);
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i].bits = places[i].bits;
    operands[i].tainted = places[i].tainted;
  }
}

}  // namespace simt_foreign
