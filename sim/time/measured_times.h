#pragma once

// What cuda/bench measured on one card, as far as a time model needs it, and the reader for it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::sim {

enum class MeasuredStage : std::uint8_t { kDecode, kPrefill };

// One case: attention of one layer, over equal contexts in a head-major cache.
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
  double copied_bytes_per_s = 0;  // read and written, of a copy within the card
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
