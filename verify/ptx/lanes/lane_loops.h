#pragma once

// Loops over the lanes of a warp. Files that include this are compiled once for each instruction
// set, so everything here is local to its file.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "verify/ptx/lanes/step.h"

namespace recto::ptx {
namespace {

template <typename T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <typename T>
struct Row {
  using Bits = BitsOf<T>;
  Row(std::byte* registers, ValuePlace place)
      : bits(static_cast<Bits*>(
            __builtin_assume_aligned(reinterpret_cast<Bits*>(registers + place), 64))) {}
  [[gnu::always_inline]] T operator[](unsigned lane) const { return std::bit_cast<T>(bits[lane]); }
  Bits* bits;
};

// An operand that is a predicate.
enum class Truth : bool { kFalse, kTrue };
constexpr bool is_true(Truth truth) { return truth == Truth::kTrue; }

template <>
struct Row<Truth> {
  Row(std::byte* registers, ValuePlace place)
      : mask(*reinterpret_cast<const LaneMask*>(registers + place)) {}
  [[gnu::always_inline]] Truth operator[](unsigned lane) const {
    return static_cast<Truth>((mask >> lane & 1) != 0);
  }
  LaneMask mask;
};

template <typename Compute, typename D>
[[gnu::always_inline]] inline void for_each_lane(std::byte* registers, ValuePlace place,
                                                 Compute compute) {
  if constexpr (std::is_same_v<D, bool>) {
    LaneMask mask = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      mask |= (compute(lane) ? LaneMask{1} : LaneMask{0}) << lane;
    }
    *reinterpret_cast<LaneMask*>(registers + place) = mask;
  } else {
    const Row<D> d(registers, place);
    // A result may only overlap an operand of the same width in the same place.
#pragma GCC ivdep
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      d.bits[lane] = std::bit_cast<BitsOf<D>>(static_cast<D>(compute(lane)));
    }
  }
}

template <typename Op, typename D, typename... Operands, std::size_t... kIndex>
void run(std::byte* registers, const Step& step, std::index_sequence<kIndex...>) {
  const ValuePlace places[] = {step.a, step.b, step.c, step.e};
  const auto run_rows = [&](const Row<Operands>&... rows) __attribute__((always_inline)) {
    const auto compute = [&](unsigned lane) __attribute__((always_inline)) {
      return Op()(rows[lane]...);
    };
    for_each_lane<decltype(compute), D>(registers, step.d, compute);
  };
  run_rows(Row<Operands>(registers, places[kIndex])...);
}

template <typename Op, typename D, typename... Operands>
void run_lanes(std::byte* registers, const Step& step) {
  run<Op, D, Operands...>(registers, step, std::index_sequence_for<Operands...>());
}

template <typename T>
constexpr Width width_of() {
  return std::is_same_v<T, bool> || std::is_same_v<T, Truth> ? kPredicateWidth : sizeof(T);
}

template <typename Op, typename D, typename... Operands>
constexpr LaneForm form_of(std::string_view form, D (Op::*)(Operands...) const) {
  constexpr Width kWidths[] = {width_of<Operands>()..., 0, 0, 0};
  LaneForm made{form, run_lanes<Op, D, Operands...>};
  made.d = width_of<D>();
  made.a = kWidths[0];
  made.b = kWidths[1];
  made.c = kWidths[2];
  made.e = kWidths[3];
  return made;
}

// The form whose lanes are computed by a lambda without captures. No operand has 8 bits: a lambda
// takes such a value in 16, as registers hold it.
template <typename Op>
constexpr LaneForm lanes(std::string_view form, Op) {
  return form_of<Op>(form, &Op::operator());
}

// Predicates are computed for all lanes at once.
template <typename Op, unsigned kOperands>
void run_masks(std::byte* registers, const Step& step) {
  const auto mask = [&](ValuePlace place) -> LaneMask& {
    return *reinterpret_cast<LaneMask*>(registers + place);
  };
  if constexpr (kOperands == 1) mask(step.d) = Op()(mask(step.a));
  if constexpr (kOperands == 2) mask(step.d) = Op()(mask(step.a), mask(step.b));
  if constexpr (kOperands == 3) mask(step.d) = Op()(mask(step.a), mask(step.b), mask(step.c));
}
template <unsigned kOperands, typename Op>
constexpr LaneForm masks(std::string_view form, Op) {
  LaneForm made{form, run_masks<Op, kOperands>};
  made.d = made.a = kPredicateWidth;
  made.b = kOperands > 1 ? kPredicateWidth : 0;
  made.c = kOperands > 2 ? kPredicateWidth : 0;
  return made;
}

}  // namespace
}  // namespace recto::ptx
