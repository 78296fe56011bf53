#include "sim/time/attention_efficiency.h"

#include <bit>
#include <sstream>

#include "core/contract.h"
#include "core/refusal.h"

namespace recto::sim {
namespace {

// Fractions of the 7.672 TB/s that a B200's driver reports (core/gpu_table.cc).
constexpr double of_b200(double tb_per_s) { return tb_per_s / 7.672; }

constexpr double kContiguous = kContiguousAttentionEfficiency;

std::vector<AttentionCurve> make_curves() {
  return {
      // The default, because it is the only kernel whose small-block speed was published as a
      // fraction of its own contiguous speed, so that it carries over to cards that were not
      // measured.
      {.name = "flashinfer",
       .points = {{1, 0.90 * kContiguous}, {16, kContiguous}},
       .provenance = Provenance::kCited,
       .source = "FlashInfer (arXiv 2501.01005): 70-83 % of peak, block 1 at 90 % of contiguous; "
                 "no loss from 16 on is our reading"},
      // Blocks smaller than a tile (128) cannot use the bulk-copy engine.
      {.name = "fa4",
       .points = {{1, of_b200(0.867)}, {32, of_b200(1.354)}, {128, of_b200(4.001)}},
       .provenance = Provenance::kCited,
       .source = "Dao-AILab/flash-attention#1999: 0.867, 1.354, 4.001 TB/s on one Blackwell card "
                 "(batch 4, 32 KV heads, 128K context), over a B200's 7.672 TB/s"},
      {.name = "fa4-gqa",
       .points =
           {{1, of_b200(2.321)}, {8, of_b200(3.902)}, {32, of_b200(4.373)}, {128, of_b200(5.265)}},
       .provenance = Provenance::kCited,
       .source = "Dao-AILab/flash-attention#2104, before the change: 2.321, 3.902, 4.373, 5.265 "
                 "TB/s (batch 32, 32/4 heads, 64K context), over a B200's 7.672 TB/s"},
      {.name = "fa3",
       .points = {{8, 0.545}},
       .provenance = Provenance::kCited,
       .source = "FlashAttention-3 users' reports: 54-55 % of peak at block 8; no other block "
                 "size is published, so the curve is flat"},
      {.name = "vllm-v0",
       .points = {{16, kContiguous / 1.23}},
       .provenance = Provenance::kCited,
       .source = "PagedAttention (arXiv 2309.06180), section 7.1: 20-26 % more kernel latency "
                 "than contiguous at block 16; no other block size is published, so the curve "
                 "is flat"},
  };
}

}  // namespace

const std::vector<AttentionCurve>& attention_curves() {
  static const std::vector<AttentionCurve> kCurves = make_curves();
  return kCurves;
}

const AttentionCurve& default_attention_curve() { return attention_curves().front(); }

Result<AttentionCurve> find_attention_curve(std::string_view name) {
  for (const AttentionCurve& curve : attention_curves()) {
    if (curve.name == name) return curve;
  }
  return Status::invalid_input("unknown attention curve '" + std::string(name) +
                               "'; expected one of " +
                               list_names(attention_curves(), &AttentionCurve::name));
}

Status check_attention_curve(const AttentionCurve& curve) {
  const auto bad = [&](const std::string& what) {
    return Status::invalid_input("attention curve '" + curve.name + "': expected " + what);
  };
  if (curve.points.empty()) return bad("at least one point");
  std::int64_t previous = 0;
  for (const EfficiencyPoint& point : curve.points) {
    if (point.block_size <= previous) return bad("block sizes that ascend from 1 or more");
    if (!(point.efficiency > 0 && point.efficiency <= 1)) {
      return bad("efficiencies above 0, at most 1");
    }
    previous = point.block_size;
  }
  return Status::ok();
}

double interpolated_log2(std::int64_t value) {
  RECTO_CHECK_GE(value, 1);
  const int exponent = std::bit_width(static_cast<std::uint64_t>(value)) - 1;
  const std::int64_t power = std::int64_t{1} << exponent;
  return exponent + static_cast<double>(value - power) / static_cast<double>(power);
}

double attention_efficiency(const AttentionCurve& curve, TokenCount block_size) {
  const std::vector<EfficiencyPoint>& points = curve.points;
  RECTO_CHECK(!points.empty());
  const double at = interpolated_log2(block_size.value());
  if (block_size.value() <= points.front().block_size) return points.front().efficiency;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (block_size.value() > points[i].block_size) continue;
    const double left = interpolated_log2(points[i - 1].block_size);
    const double right = interpolated_log2(points[i].block_size);
    const double share = (at - left) / (right - left);
    // This form is exact at both end points, and rounding never leaves the range between them.
    return points[i - 1].efficiency * (1 - share) + points[i].efficiency * share;
  }
  return points.back().efficiency;
}

std::string describe_curve(const AttentionCurve& curve) {
  std::ostringstream text;
  text << curve.name << ": ";
  const char* separator = "";
  for (const EfficiencyPoint& point : curve.points) {
    text << separator << point.efficiency << " of peak at block " << point.block_size;
    separator = ", ";
  }
  text << (curve.provenance == Provenance::kCited ? " (cited, not measured on this card: "
                                                  : " (measured on this card: ")
       << curve.source << ")";
  return text.str();
}

}  // namespace recto::sim
