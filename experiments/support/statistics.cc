#include "experiments/support/statistics.h"

#include <array>
#include <cmath>

#include "core/contract.h"

namespace recto::experiments {

double student_t(int degrees_of_freedom) {
  RECTO_CHECK_GE(degrees_of_freedom, 1);
  // Abramowitz & Stegun, Handbook of Mathematical Functions, table 26.10.
  static constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                     2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                     2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                     2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  const auto row = static_cast<std::size_t>(degrees_of_freedom) - 1;
  if (row < kTable.size()) return kTable[row];
  // The same, 26.7.5.
  const double z = 1.959964;
  const double n = degrees_of_freedom;
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

MeanInterval mean_with_interval(std::span<const double> values) {
  RECTO_CHECK_GE(values.size(), 1u);
  const auto n = static_cast<double>(values.size());
  MeanInterval result;
  for (const double value : values) result.mean += value / n;
  if (values.size() == 1) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  const double deviation = std::sqrt(squares / (n - 1));
  result.half_width = student_t(static_cast<int>(values.size()) - 1) * deviation / std::sqrt(n);
  return result;
}

}  // namespace recto::experiments
