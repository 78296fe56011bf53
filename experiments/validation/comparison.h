#pragma once

// An external figure, the one that recto gives, and how far apart they may be.

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace recto::experiments {

enum class Tolerance : std::uint8_t {
  kPoints,    // |measured - expected| <= tolerance
  kRelative,  // |measured / expected - 1| <= tolerance
  kAtLeast,   // measured >= expected
};

struct Comparison {
  std::string quantity;  // with its unit
  double expected = 0;
  double measured = 0;
  Tolerance kind = Tolerance::kRelative;
  double tolerance = 0;

  // In units of the tolerance's kind: points, or a share.
  double deviation() const;
  bool holds() const;
};

// As a Markdown table with a heading.
void print(std::ostream& out, const std::string& heading,
           const std::vector<Comparison>& comparisons);

}  // namespace recto::experiments
