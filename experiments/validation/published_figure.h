#pragma once

// A published figure, recto's figure, and the permitted difference.

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

struct PublishedFigure {
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
           const std::vector<PublishedFigure>& comparisons);

struct Curve {
  std::string name;
  std::string dashes;          // SVG stroke-dasharray; empty: solid
  std::vector<double> values;  // one per second, in percent
};

// A small line chart of percentages over seconds, as a self-contained SVG.
std::string curve_svg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace recto::experiments
