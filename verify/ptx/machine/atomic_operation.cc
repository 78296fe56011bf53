// What atomic operations compute.

#include "verify/ptx/arithmetic/comparison.h"
#include "verify/ptx/arithmetic/float_arithmetic.h"
#include "verify/ptx/machine/memory_steps.h"

namespace recto::ptx {
namespace {

template <typename T>
T combine_integers(AtomicOperation operation, T old, T b, T c) {
  using enum AtomicOperation;
  switch (operation) {
    case kAdd:
      return static_cast<T>(old + b);
    case kMin:
      return b < old ? b : old;
    case kMax:
      return b > old ? b : old;
    case kAnd:
      return static_cast<T>(old & b);
    case kOr:
      return static_cast<T>(old | b);
    case kXor:
      return static_cast<T>(old ^ b);
    case kExchange:
      return b;
    case kCompareAndSwap:
      return old == b ? c : old;
    case kIncrement:
      return old >= b ? T{0} : static_cast<T>(old + 1);
    case kDecrement:
      return old == 0 || old > b ? b : static_cast<T>(old - 1);
  }
  return old;
}

template <FloatFormat kFormat>
std::uint32_t combine_halves(AtomicOperation operation, std::uint32_t old, std::uint32_t b) {
  const auto half = [&](std::uint32_t x, std::uint32_t y) {
    if (operation == AtomicOperation::kAdd) return add<kFormat>(x, y, FloatMode{});
    const bool is_min = operation == AtomicOperation::kMin;
    return extreme<kFormat>(is_min ? Extreme::kMin : Extreme::kMax, x, y, FloatMode{});
  };
  return each_half(half, old, b);
}

}  // namespace

std::uint64_t combined(const Detail& detail, const AtomicValues& values) {
  const AtomicOperation operation = detail.atomic;
  const auto word = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  const auto& [old, b, c, is_global] = values;
  switch (detail.type) {
    case ScalarType::kF32:
      return bits_of(add(float_of(word(old)), float_of(word(b)), FloatMode{.flush = is_global}));
    case ScalarType::kF64:
      return bits_of(add(double_of(old), double_of(b), FloatMode{}));
    case ScalarType::kF16:
    case ScalarType::kF16x2:
      return combine_halves<kF16>(operation, word(old), word(b));
    case ScalarType::kBf16:
    case ScalarType::kBf16x2:
      return combine_halves<kBf16>(operation, word(old), word(b));
    case ScalarType::kS32:
      return word(static_cast<std::uint64_t>(combine_integers(
          operation, static_cast<std::int32_t>(word(old)), static_cast<std::int32_t>(word(b)), 0)));
    case ScalarType::kS64:
      return static_cast<std::uint64_t>(combine_integers(operation, static_cast<std::int64_t>(old),
                                                         static_cast<std::int64_t>(b),
                                                         std::int64_t{0}));
    default:
      break;
  }
  switch (detail.width) {
    case 2:
      return combine_integers(operation, static_cast<std::uint16_t>(old),
                              static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(c));
    case 4:
      return combine_integers(operation, word(old), word(b), word(c));
    default:
      return combine_integers(operation, old, b, c);
  }
}

}  // namespace recto::ptx
