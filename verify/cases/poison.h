#pragma once

// Codes that memory is filled with: for places that must not be read, or whose contents must not
// matter; and of random numbers.

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

}  // namespace recto::verify
