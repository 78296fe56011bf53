#pragma once

// The share of a card's memory bandwidth that paged decode attention reaches, by block size. Small
// blocks mean short contiguous reads and more address arithmetic. Without such a curve block size
// 1, which wastes no slots, would win every simulation.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/units.h"

namespace recto::sim {

struct EfficiencyPoint {
  std::int64_t block_size;  // tokens
  double efficiency;        // KV bytes per second over the card's peak, in (0, 1]
};

// Whether a curve was taken from publications or measured on the card that it is used for.
enum class Provenance : std::uint8_t { kCited, kMeasured };

struct AttentionCurve {
  std::string name;
  std::vector<EfficiencyPoint> points;  // block sizes ascend
  Provenance provenance = Provenance::kCited;
  std::string source;
};

// Decode attention over contiguous KV reaches 70-83 % of peak: FlashInfer on skewed batches
// (arXiv 2501.01005). Curves published relative to a contiguous kernel are multiplied by the
// midpoint.
inline constexpr double kContiguousAttentionEfficiency = 0.765;

// The cited curves, the default one first.
const std::vector<AttentionCurve>& attention_curves();
const AttentionCurve& default_attention_curve();

// Looks a curve up by name. Invalid input, listing the known names, if there is none.
Result<AttentionCurve> find_attention_curve(std::string_view name);

// Invalid input unless there are points, their block sizes ascend from 1 or more, and each
// efficiency is in (0, 1].
Status check_attention_curve(const AttentionCurve& curve);

// The curve at `block_size` >= 1: linear in interpolated_log2 between points, constant
// beyond them. O(points).
double attention_efficiency(const AttentionCurve& curve, TokenCount block_size);

// log2, exact at powers of two and linear in between (at most 0.087 below the true one). Portable
// to the last bit, which std::log2 is not. `value` >= 1.
double interpolated_log2(std::int64_t value);

// "flashinfer: 0.6885 at block 1, ... (cited, not measured on this card: ...)"
std::string describe_curve(const AttentionCurve& curve);

}  // namespace recto::sim
