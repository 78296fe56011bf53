#pragma once

// Of repeated measurements: the middle one, and how far the others lie from it.

#include <vector>

namespace recto::bench {

struct SampleStatistics {
  double median = 0;
  double low = 0;   // a tenth of all are less
  double high = 0;  // a tenth are more

  // Of the middle four fifths, of the median.
  double spread() const { return (high - low) / median; }
};

// Quantiles are linear between neighbours. Not of no samples. O(samples log samples).
SampleStatistics statistics_of(std::vector<double> samples);

}  // namespace recto::bench
