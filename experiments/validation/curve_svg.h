#pragma once

#include <string>
#include <vector>

namespace recto::experiments {

struct Curve {
  std::string name;
  std::string dashes;          // SVG stroke-dasharray; empty: solid
  std::vector<double> values;  // one per second, in percent
};

// A small line chart of percentages over seconds that needs nothing but a browser.
std::string curve_svg(const std::string& title, const std::vector<Curve>& curves);

}  // namespace recto::experiments
