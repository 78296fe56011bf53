#include "experiments/validation/comparison.h"

#include <fmt/format.h>

#include <cmath>

namespace recto::experiments {

double Comparison::deviation() const {
  return kind == Tolerance::kRelative ? measured / expected - 1 : measured - expected;
}

bool Comparison::holds() const {
  if (kind == Tolerance::kAtLeast) return measured >= expected;
  return std::abs(deviation()) <= tolerance;  // false for NaN
}

void print(std::ostream& out, const std::string& heading,
           const std::vector<Comparison>& comparisons) {
  out << "### " << heading << "\n\n"
      << "| quantity | expected | recto | off by | allowed | |\n|---|---:|---:|---:|---:|---|\n";
  for (const Comparison& row : comparisons) {
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

}  // namespace recto::experiments
