#pragma once

// Statistics of repeated measurements: the median and the spread.

#include <vector>

namespace recto::bench {

struct SampleStatistics {
  double median = 0;
  double low = 0;   // a tenth of the samples is below
  double high = 0;  // a tenth is above

  // The width of the middle four fifths, relative to the median.
  double spread() const { return (high - low) / median; }
};

// Interpolates quantiles linearly. `samples` must not be empty. O(samples log samples).
SampleStatistics statistics_of(std::vector<double> samples);

}  // namespace recto::bench
