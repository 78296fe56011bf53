#include "experiments/report/block_size_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

using Sizes = std::vector<BlockSizeFigures>;

// nullopt if some size does not have this figure.
std::optional<MeanInterval> best_of(const BlockSizeCriterion& criterion, const Sizes& sizes) {
  std::optional<MeanInterval> best;
  for (const BlockSizeFigures& size : sizes) {
    const std::optional<MeanInterval> figure = criterion.figure(size);
    if (!figure) return std::nullopt;
    if (!best || (figure->mean - best->mean) * criterion.sign < 0) best = figure;
  }
  return best;
}

const char* remark_on(Weight weight, std::int64_t seeds) {
  if (weight == Weight::kIsShown) return " (does not decide: the times have it in them)";
  if (weight == Weight::kDecidesOverSeeds && seeds == 1) {
    return " (does not decide: of one run)";
  }
  return "";
}

BlockSizeVerdict verdict_on(const BlockSizeFigures& size, const Sizes& sizes, std::int64_t seeds) {
  BlockSizeVerdict verdict{.block_size = size.block_size,
                           .is_good = true,
                           .drawbacks = {},
                           .not_told_apart = {},
                           .beaten_by = {}};
  for (const BlockSizeCriterion& criterion : block_size_criteria()) {
    const std::optional<MeanInterval> best = best_of(criterion, sizes);
    if (!best || criterion.weight == Weight::kIsCompared) continue;
    const MeanInterval figure = *criterion.figure(size);
    const std::optional<std::string> worse = worse_text(criterion, figure, *best);
    if (!worse) continue;
    if (!is_told_apart(figure, *best)) {
      verdict.not_told_apart.push_back(*worse);
      continue;
    }
    const std::string remark = remark_on(criterion.weight, seeds);
    verdict.drawbacks.push_back(*worse + remark);
    verdict.is_good = verdict.is_good && !remark.empty();
  }
  return verdict;
}

// No worse in anything, and better in one thing by more than chance.
bool beats(const BlockSizeFigures& a, const BlockSizeFigures& b) {
  bool is_better = false;
  for (const BlockSizeCriterion& criterion : block_size_criteria()) {
    const std::optional<MeanInterval> ours = criterion.figure(a);
    const std::optional<MeanInterval> theirs = criterion.figure(b);
    if (!ours || !theirs) continue;
    const double worse_by = (ours->mean - theirs->mean) * criterion.sign;
    if (worse_by > 0) return false;
    is_better = is_better || (worse_by < 0 && is_told_apart(*ours, *theirs));
  }
  return is_better;
}

std::optional<std::int64_t> beaten_by(const BlockSizeFigures& size, const Sizes& sizes) {
  const auto found = std::ranges::find_if(
      sizes, [&](const BlockSizeFigures& other) { return beats(other, size); });
  if (found == sizes.end()) return std::nullopt;
  return found->block_size;
}

bool is_unclear(const MeanInterval& from, const MeanInterval& to) {
  return from.mean != to.mean && !is_told_apart(from, to);
}

std::string changed_points(const char* what, const MeanInterval& from, const MeanInterval& to) {
  if (is_unclear(from, to)) return fmt::format("{} not told apart", what);
  const double change = (to.mean - from.mean) * 100;
  if (std::abs(change) < 0.05) return fmt::format("{} the same", what);
  return fmt::format("{} {:.1f} points {}", what, std::abs(change), change > 0 ? "up" : "down");
}

std::string changed_ratio(const char* what, const MeanInterval& before, const MeanInterval& after) {
  if (is_unclear(before, after)) return fmt::format("{} not told apart", what);
  const double from = before.mean;
  const double to = after.mean;
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
  std::string text = fmt::format("Block {} instead: {}, {}, {}, {}, {}", to.block_size,
                                 changed_points("held empty", from.waste, to.waste),
                                 changed_ratio("block tables", from.table_bytes, to.table_bytes),
                                 changed_ratio("time per token", from.s_per_token, to.s_per_token),
                                 changed_ratio("TTFT median", from.ttft_p50_s, to.ttft_p50_s),
                                 changed_ratio("TTFT p99", from.ttft_p99_s, to.ttft_p99_s));
  if (from.prefix_hit.mean > 0 || to.prefix_hit.mean > 0) {
    text += ", " + changed_points("prefix hits", from.prefix_hit, to.prefix_hit);
  }
  if (from.copied_bytes.mean > 0 || to.copied_bytes.mean > 0) {
    text += ", " + changed_ratio("bytes copied on write", from.copied_bytes, to.copied_bytes);
  }
  if (from.kernel_s && to.kernel_s) {
    text += ", " + changed_ratio("attention kernels", *from.kernel_s, *to.kernel_s);
  }
  return text + ".";
}

// What a reader of the recommendation must know of it, if anything.
std::string price_of(const BlockSizeVerdict& chosen, std::int64_t seeds) {
  std::string text;
  if (!chosen.drawbacks.empty()) {
    text += fmt::format(" Against it: {}.", fmt::join(chosen.drawbacks, "; "));
  }
  if (!chosen.not_told_apart.empty()) {
    text += fmt::format(" Not told apart from the best by {} seeds: {}.", seeds,
                        fmt::join(chosen.not_told_apart, "; "));
  }
  return text;
}

std::string reason_of(const BlockSizeVerdict& chosen, const std::vector<BlockSizeVerdict>& verdicts,
                      std::int64_t seeds) {
  const auto good = std::ranges::count_if(verdicts, &BlockSizeVerdict::is_good);
  if (good == 0) {
    return fmt::format(
               "No size is within one percent of the best in everything; block {} takes the least "
               "time per output token{}.",
               chosen.block_size, seeds > 1 ? ", on average over the seeds" : "") +
           price_of(chosen, seeds);
  }
  const std::string among =
      good == 1 ? "is the only size" : fmt::format("is the largest of {} sizes", good);
  return fmt::format(
             "Block {} {} {} one percent of the best in slots held empty, prefix hits, throughput "
             "and time per token{}.",
             chosen.block_size, among,
             seeds > 1 ? "that the seeds do not show to be beyond" : "within",
             good == 1 ? "" : "; of equally good ones the largest has the smallest block tables") +
         price_of(chosen, seeds);
}

}  // namespace

std::optional<BlockSizeAdvice> advise(const std::vector<BlockSizeFigures>& sizes,
                                      std::int64_t seeds) {
  if (sizes.size() < 2) return std::nullopt;
  BlockSizeAdvice advice;
  std::size_t chosen = 0;
  bool any_good = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) RECTO_CHECK_LT(sizes[i - 1].block_size, sizes[i].block_size);
    BlockSizeVerdict verdict = verdict_on(sizes[i], sizes, seeds);
    verdict.beaten_by = beaten_by(sizes[i], sizes);
    const bool is_quicker = sizes[i].s_per_token.mean < sizes[chosen].s_per_token.mean;
    if (verdict.is_good || (!any_good && is_quicker)) chosen = i;
    any_good = any_good || verdict.is_good;
    advice.verdicts.push_back(std::move(verdict));
  }
  advice.recommended = sizes[chosen].block_size;
  advice.reason = reason_of(advice.verdicts[chosen], advice.verdicts, seeds);
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
                        {"not_told_apart", verdict.not_told_apart},
                        {"beaten_by", verdict.beaten_by ? Json(*verdict.beaten_by) : Json()}});
  }
  return {{"recommended", advice.recommended},
          {"reason", advice.reason},
          {"trade_offs", advice.trade_offs},
          {"verdicts", verdicts}};
}

}  // namespace recto::experiments
