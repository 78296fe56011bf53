#pragma once

// Codes for places that must not be read, or whose contents must not matter.

#include <cstdint>

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

 private:
  std::uint32_t next_finite();

  Poison poison_;
  ElementType type_;
  std::uint32_t constant_ = 0;
  RandomStream stream_;
};

}  // namespace recto::verify
