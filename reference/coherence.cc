#include "reference/coherence.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace recto::reference {

std::int64_t multiplicity(std::span<const double> values) {
  absl::flat_hash_map<std::uint64_t, std::int64_t> counts;
  counts.reserve(values.size());
  std::int64_t most = 0;
  for (const double value : values) {
    most = std::max(most, ++counts[std::bit_cast<std::uint64_t>(std::abs(value))]);
  }
  return most;
}

}  // namespace recto::reference
