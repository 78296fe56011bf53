#pragma once

// What memory is filled with: codes for places that must not be read, or whose contents must not
// matter; codes of random numbers; and what an earlier call might have left in memory that is to be
// written.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/element_type.h"
#include "core/random_stream.h"
#include "verify/cases/placed_problem.h"

namespace recto::verify {

// Generates codes: a constant, or, for kGarbage, random codes of finite values. A value that the
// type lacks is replaced by its closest equivalent: e4m3 has NaN for infinity, and its largest
// number for ten thousand.
class PoisonCodes {
 public:
  PoisonCodes(Poison poison, ElementType type, const RandomStream& stream);

  std::uint32_t next() { return poison_ == Poison::kGarbage ? next_finite() : constant_; }
  ElementType type() const { return type_; }

 private:
  std::uint32_t next_finite();

  Poison poison_;
  ElementType type_;
  std::uint32_t constant_ = 0;
  RandomStream stream_;
};

void fill_with(std::span<std::byte> memory, PoisonCodes codes);

// The codes of numbers that are uniform in [-1, 1).
void fill_with_units(std::span<std::byte> memory, ElementType type, RandomStream& stream);

// NaN in every type.
inline constexpr std::uint32_t kStaleNaN = 0xffff'ffffU;

// Fills `memory` with the four bytes of `pattern`, lowest first, repeated.
inline void fill_with(std::span<std::byte> memory, std::uint32_t pattern) {
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::byte>(pattern >> (i % sizeof pattern * 8));
}

}  // namespace recto::verify
