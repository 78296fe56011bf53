#pragma once

// Codes for the places that nobody may read, or whose content may not matter.

#include <cstdint>

#include "core/element_type.h"
#include "core/random_stream.h"
#include "verify/problems/placed_problem.h"

namespace recto::verify {

// Hands out one code after the other: a constant, or, for kGarbage, random codes of finite values.
// A value that the type lacks becomes its nearest relative: e4m3 has NaN for infinity, and its
// largest for ten thousand.
class PoisonCodes {
 public:
  PoisonCodes(Poison poison, ElementType type, const RandomStream& stream);

  std::uint32_t next() { return poison_ == Poison::kGarbage ? next_finite() : constant_; }

 private:
  std::uint32_t next_finite();

  Poison poison_;
  ElementType type_;
  std::uint32_t constant_ = 0;
  RandomStream stream_;
};

}  // namespace recto::verify
