#pragma once

// Means of few independent runs, and how far they may be off.

#include <span>

namespace recto::experiments {

struct MeanInterval {
  double mean = 0;
  double half_width = 0;  // of the 95 % confidence interval; 0 for a single value
};

// For values that are about normal; not empty.
MeanInterval mean_with_interval(std::span<const double> values);

// The 97.5th percentile of Student's t with `degrees_of_freedom`, at least 1; accurate to within
// 1e-3.
double student_t(int degrees_of_freedom);

}  // namespace recto::experiments
