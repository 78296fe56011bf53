#pragma once

// The results of cuda/bench on one card, as far as a time model needs them: times by amounts of
// work, and the reader for the file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::sim {

// Time by amount of work, interpolated between measured points. More work never takes less time,
// and no speed is extrapolated.
struct MeasuredPoint {
  double work = 0;  // bytes or operations, more than 0
  double ns = 0;    // more than 0
};

// The position of an amount of work relative to the points; only at a point is the time measured.
enum class CurvePart : std::uint8_t { kBelowFirst, kAtPoint, kBetween, kBeyondLast };

// Points of equal work are averaged. A point that took less time than a point with less work gets
// that point's time. No work takes no time. Up to the first point the time is constant, because a
// launch has a minimum cost; between points it is linear; beyond the last point it grows in
// proportion to the work.
class MeasuredCurve {
 public:
  // At least one point, in any order. O(points log points).
  explicit MeasuredCurve(std::vector<MeasuredPoint> points);

  // `work` must be at least 0. O(log points).
  double ns(double work) const;

  // `work` must be above 0. O(log points).
  CurvePart part(double work) const;

 private:
  std::vector<MeasuredPoint> points_;  // work ascends, time does not descend
};

enum class MeasuredStage : std::uint8_t { kDecode, kPrefill };

// One measured case: attention of one layer, over equal contexts in a head-major cache.
struct MeasuredAttention {
  MeasuredStage stage = MeasuredStage::kDecode;
  std::int64_t group = 0;  // query heads of a KV head
  std::int64_t head_dim = 0;
  std::int64_t kv_element_bytes = 0;
  std::int64_t block_size = 0;
  bool is_contiguous = false;
  double kv_bytes = 0;  // K and V of all contexts
  double flops = 0;
  double ns = 0;  // median
};

struct MeasuredTimes {
  std::string gpu;     // as the driver names it
  std::string commit;  // of the kernels
  std::string date;
  double copied_bytes_per_s = 0;  // bytes read plus bytes written, by a copy within the card
  double matrix_flops_per_s = 0;
  std::vector<MeasuredAttention> attention;
};

// Parses the JSON of cuda/bench:attention_benchmark (experiments/results/README.md): the benchmarks
// decode/... and prefill/..., except for skipped ones. Invalid input, naming `file_name`, the
// benchmark and the field, for a field that is missing or of the wrong type, a number that is not
// above 0, or a file without such benchmarks.
Result<MeasuredTimes> parse_measured_times(std::string_view text, const std::string& file_name);

// Reads `path` and parses it. Also invalid input if the file cannot be read.
Result<MeasuredTimes> load_measured_times(const std::string& path);

}  // namespace recto::sim
