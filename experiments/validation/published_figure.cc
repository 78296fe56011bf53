#include "experiments/validation/published_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recto::experiments {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 260;
constexpr double kLeft = 44;
constexpr double kTop = 34;
constexpr double kBottom = 226;

double y_of(double percent) { return kBottom - (kBottom - kTop) * percent / 100; }

std::string line_of(const Curve& curve, double seconds, int index) {
  std::string points;
  for (std::size_t i = 0; i < curve.values.size(); ++i) {
    const double x = kLeft + (kWidth - kLeft - 12) * static_cast<double>(i) / seconds;
    points += fmt::format("{:.1f},{:.1f} ", x, y_of(curve.values[i]));
  }
  const double legend = kLeft + 150 * index;
  return fmt::format(
      "<polyline fill='none' stroke='currentColor' stroke-width='1.3' stroke-dasharray='{0}' "
      "points='{1}'/>\n<line x1='{2}' x2='{3}' y1='250' y2='250' stroke='currentColor' "
      "stroke-dasharray='{0}'/><text x='{4}' y='254'>{5}</text>\n",
      curve.dashes, points, legend, legend + 28, legend + 34, curve.name);
}

}  // namespace

double PublishedFigure::deviation() const {
  return kind == Tolerance::kRelative ? measured / expected - 1 : measured - expected;
}

bool PublishedFigure::holds() const {
  if (kind == Tolerance::kAtLeast) return measured >= expected;
  return std::abs(deviation()) <= tolerance;  // false for NaN
}

void print(std::ostream& out, const std::string& heading,
           const std::vector<PublishedFigure>& comparisons) {
  out << "### " << heading << "\n\n"
      << "| quantity | expected | recto | off by | allowed | |\n|---|---:|---:|---:|---:|---|\n";
  for (const PublishedFigure& row : comparisons) {
    std::string off = fmt::format("{:+.2f}", row.deviation());
    std::string allowed = fmt::format("{:.2f}", row.tolerance);
    if (row.kind == Tolerance::kRelative) {
      off = fmt::format("{:+.1f} %", 100 * row.deviation());
      allowed = fmt::format("{:.0f} %", 100 * row.tolerance);
    } else if (row.kind == Tolerance::kAtLeast) {
      allowed = "at least";
    }
    out << fmt::format("| {} | {:.2f} | {:.2f} | {} | {} | {} |\n", row.quantity, row.expected,
                       row.measured, off, allowed, row.holds() ? "holds" : "**fails**");
  }
  out << "\n";
}

std::string curve_svg(const std::string& title, const std::vector<Curve>& curves) {
  std::size_t longest = 2;
  for (const Curve& curve : curves) longest = std::max(longest, curve.values.size());
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' font-family='sans-serif' "
      "font-size='12' color='#444'>\n<text x='{}' y='20' font-size='14'>{}</text>\n",
      kWidth, kHeight, kLeft, title);
  for (const int percent : {0, 25, 50, 75, 100}) {
    svg += fmt::format(
        "<line x1='{0}' x2='{1}' y1='{2}' y2='{2}' stroke='#ccc'/><text x='8' y='{3}'>{4} %</text>"
        "\n",
        kLeft, kWidth - 12, y_of(percent), y_of(percent) + 4, percent);
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    svg += line_of(curves[i], static_cast<double>(longest - 1), static_cast<int>(i));
  }
  return svg + "</svg>\n";
}

}  // namespace recto::experiments
