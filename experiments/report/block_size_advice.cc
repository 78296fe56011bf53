#include "experiments/report/block_size_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/contract.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

using Sizes = std::vector<BlockSizeFigures>;

double best_of(const Sizes& sizes, double BlockSizeFigures::*figure,
               bool (*is_better)(double, double)) {
  double best = sizes.front().*figure;
  for (const BlockSizeFigures& size : sizes) {
    if (is_better(size.*figure, best)) best = size.*figure;
  }
  return best;
}

bool less(double a, double b) { return a < b; }
bool more(double a, double b) { return a > b; }

std::string points(double share) { return fmt::format("{:.1f} points", share * 100); }

std::vector<std::string> drawbacks_of(const BlockSizeFigures& size, const Sizes& sizes) {
  std::vector<std::string> drawbacks;
  const double waste = size.waste - best_of(sizes, &BlockSizeFigures::waste, less);
  if (waste > kGoodShare) {
    drawbacks.push_back(fmt::format("{} of the pool more held empty", points(waste)));
  }
  const double hits = best_of(sizes, &BlockSizeFigures::prefix_hit, more) - size.prefix_hit;
  if (hits > kGoodShare) {
    drawbacks.push_back(fmt::format("{} fewer of the prompt tokens found cached", points(hits)));
  }
  const double output = best_of(sizes, &BlockSizeFigures::output_per_s, more);
  if (size.output_per_s < output * (1 - kGoodRatio)) {
    drawbacks.push_back(
        fmt::format("{} % less served per second", percent(1 - size.output_per_s / output)));
  }
  const double time = best_of(sizes, &BlockSizeFigures::s_per_token, less);
  if (size.s_per_token > time * (1 + kGoodRatio)) {
    drawbacks.push_back(
        time > 0 ? fmt::format("{} % longer per token", percent(size.s_per_token / time - 1))
                 : std::string("longer per token"));
  }
  const double rejected = best_of(sizes, &BlockSizeFigures::requests_rejected, less);
  if (size.requests_rejected > rejected) {
    drawbacks.push_back(fmt::format("{} more requests that can never fit",
                                    short_number(size.requests_rejected - rejected)));
  }
  return drawbacks;
}

// Costs only: smaller is better.
std::array<double, 8> costs(const BlockSizeFigures& size) {
  return {size.waste,         -size.prefix_hit, size.table_bytes,       size.copied_bytes,
          -size.output_per_s, size.s_per_token, size.requests_rejected, size.kernel_s.value_or(0)};
}

bool beats(const BlockSizeFigures& a, const BlockSizeFigures& b) {
  const auto ours = costs(a);
  const auto theirs = costs(b);
  bool is_better = false;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i] > theirs[i]) return false;
    is_better = is_better || ours[i] < theirs[i];
  }
  return is_better;
}

std::optional<std::int64_t> beaten_by(const BlockSizeFigures& size, const Sizes& sizes) {
  const auto found = std::ranges::find_if(
      sizes, [&](const BlockSizeFigures& other) { return beats(other, size); });
  if (found == sizes.end()) return std::nullopt;
  return found->block_size;
}

std::string changed_points(const char* what, double from, double to) {
  const double change = (to - from) * 100;
  if (std::abs(change) < 0.05) return fmt::format("{} the same", what);
  return fmt::format("{} {:.1f} points {}", what, std::abs(change), change > 0 ? "up" : "down");
}

std::string changed_ratio(const char* what, double from, double to) {
  if (from == to) return fmt::format("{} the same", what);
  if (from <= 0) return fmt::format("{} {}", what, to > 0 ? "up from nothing" : "the same");
  const double ratio = to / from;
  if (ratio >= 1.5 || ratio <= 1 / 1.5) {
    return fmt::format("{} x {}", what, short_number(std::rint(ratio * 100) / 100));
  }
  if (std::abs(ratio - 1) < 0.0005) return fmt::format("{} the same", what);
  return fmt::format("{} {} % {}", what, percent(std::abs(ratio - 1)), ratio > 1 ? "up" : "down");
}

std::string trade_off(const BlockSizeFigures& from, const BlockSizeFigures& to) {
  std::string text = fmt::format("Block {} instead: {}, {}, {}", to.block_size,
                                 changed_points("held empty", from.waste, to.waste),
                                 changed_ratio("block tables", from.table_bytes, to.table_bytes),
                                 changed_ratio("time per token", from.s_per_token, to.s_per_token));
  if (from.prefix_hit > 0 || to.prefix_hit > 0) {
    text += ", " + changed_points("prefix hits", from.prefix_hit, to.prefix_hit);
  }
  if (from.copied_bytes > 0 || to.copied_bytes > 0) {
    text += ", " + changed_ratio("bytes copied on write", from.copied_bytes, to.copied_bytes);
  }
  return text + ".";
}

std::string reason_of(const BlockSizeFigures& chosen,
                      const std::vector<BlockSizeVerdict>& verdicts) {
  const auto good = std::ranges::count_if(verdicts, &BlockSizeVerdict::is_good);
  if (good == 0) {
    return fmt::format(
        "No size is within one percent of the best in everything; block {} takes the least time "
        "per output token.",
        chosen.block_size);
  }
  const std::string among =
      good == 1 ? "is the only size" : fmt::format("is the largest of {} sizes", good);
  return fmt::format(
      "Block {} {} within one percent of the best in slots held empty, prefix hits, throughput "
      "and time per token{}.",
      chosen.block_size, among,
      good == 1 ? "" : "; of equally good ones the largest has the smallest block tables");
}

}  // namespace

std::optional<BlockSizeAdvice> advise(const std::vector<BlockSizeFigures>& sizes) {
  if (sizes.size() < 2) return std::nullopt;
  BlockSizeAdvice advice;
  std::size_t chosen = 0;
  bool any_good = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) RECTO_CHECK_LT(sizes[i - 1].block_size, sizes[i].block_size);
    BlockSizeVerdict verdict{.block_size = sizes[i].block_size,
                             .is_good = false,
                             .drawbacks = drawbacks_of(sizes[i], sizes),
                             .beaten_by = beaten_by(sizes[i], sizes)};
    verdict.is_good = verdict.drawbacks.empty();
    const bool is_quicker = sizes[i].s_per_token < sizes[chosen].s_per_token;
    if (verdict.is_good || (!any_good && is_quicker)) chosen = i;
    any_good = any_good || verdict.is_good;
    advice.verdicts.push_back(std::move(verdict));
  }
  advice.recommended = sizes[chosen].block_size;
  advice.reason = reason_of(sizes[chosen], advice.verdicts);
  if (chosen > 0) advice.trade_offs.push_back(trade_off(sizes[chosen], sizes[chosen - 1]));
  if (chosen + 1 < sizes.size()) {
    advice.trade_offs.push_back(trade_off(sizes[chosen], sizes[chosen + 1]));
  }
  return advice;
}

Json to_json(const BlockSizeAdvice& advice) {
  Json verdicts = Json::array();
  for (const BlockSizeVerdict& verdict : advice.verdicts) {
    verdicts.push_back({{"block_size", verdict.block_size},
                        {"is_good", verdict.is_good},
                        {"drawbacks", verdict.drawbacks},
                        {"beaten_by", verdict.beaten_by ? Json(*verdict.beaten_by) : Json()}});
  }
  return {{"recommended", advice.recommended},
          {"reason", advice.reason},
          {"trade_offs", advice.trade_offs},
          {"verdicts", verdicts}};
}

}  // namespace recto::experiments
