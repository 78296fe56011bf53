#include "experiments/report/block_size_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/contract.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

using Sizes = std::vector<BlockSizeFigures>;

// Those that reject the fewest requests.
Sizes serving_most(const Sizes& sizes) {
  double fewest = sizes.front().requests_rejected.mean;
  for (const BlockSizeFigures& size : sizes) fewest = std::min(fewest, size.requests_rejected.mean);
  Sizes most;
  std::ranges::copy_if(sizes, std::back_inserter(most), [&](const BlockSizeFigures& size) {
    return size.requests_rejected.mean == fewest;
  });
  return most;
}

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

// Measured by `most`, the sizes that reject the fewest requests.
BlockSizeVerdict verdict_on(const BlockSizeFigures& size, const Sizes& most, std::int64_t seeds) {
  BlockSizeVerdict verdict{.block_size = size.block_size,
                           .is_good = true,
                           .drawbacks = {},
                           .not_told_apart = {},
                           .beaten_by = {}};
  for (const BlockSizeCriterion& criterion : block_size_criteria()) {
    const std::optional<MeanInterval> best = best_of(criterion, most);
    const std::optional<MeanInterval> figure = criterion.figure(size);
    if (!best || !figure || criterion.weight == Weight::kIsCompared) continue;
    const std::optional<std::string> worse = worse_text(criterion, *figure, *best);
    if (!worse) continue;
    if (!is_told_apart(criterion, *figure, *best)) {
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
    is_better = is_better || (worse_by < 0 && is_told_apart(criterion, *ours, *theirs));
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

// Empty where nothing is rejected.
std::string changed_rejections(const MeanInterval& from, const MeanInterval& to) {
  if (from.mean == 0 && to.mean == 0) return "";
  if (from.mean == to.mean) {
    return fmt::format("as many requests rejected, {}, ", count_text(to.mean));
  }
  return fmt::format("{} requests rejected instead of {}, ", count_text(to.mean),
                     count_text(from.mean));
}

std::string trade_off(const BlockSizeFigures& from, const BlockSizeFigures& to) {
  std::string text = fmt::format("Block {} instead: {}{}, {}, {}, {}, {}", to.block_size,
                                 changed_rejections(from.requests_rejected, to.requests_rejected),
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

// How many requests are rejected, if any, and which sizes were left out for it.
std::string rejections_of(const BlockSizeFigures& chosen, const Sizes& sizes) {
  std::vector<std::string> left_out;
  for (const BlockSizeFigures& size : sizes) {
    const double rejected = size.requests_rejected.mean;
    if (rejected == chosen.requests_rejected.mean) continue;
    left_out.push_back(fmt::format("block {} ({})", size.block_size, count_text(rejected)));
  }
  const std::string here =
      fmt::format("rejects {} of {} requests", count_text(chosen.requests_rejected.mean),
                  count_text(chosen.requests_rejected.mean + chosen.requests_finished.mean));
  if (!left_out.empty()) {
    return fmt::format(" It {}; left out, as they reject more: {}.", here,
                       fmt::join(left_out, ", "));
  }
  if (chosen.requests_rejected.mean == 0) return "";
  return fmt::format(" Every size {}, which can never fit.", here);
}

// `most` are the sizes that reject the fewest requests; `verdicts` are on all.
std::string reason_of(const BlockSizeVerdict& chosen, const std::vector<BlockSizeVerdict>& verdicts,
                      const Sizes& most, std::int64_t seeds) {
  const auto good = std::ranges::count_if(verdicts, &BlockSizeVerdict::is_good);
  if (most.size() == 1) {
    return fmt::format("Block {} is the size that rejects the fewest requests.", chosen.block_size);
  }
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
  const Sizes most = serving_most(sizes);
  BlockSizeAdvice advice;
  std::optional<std::size_t> found;
  bool any_good = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) RECTO_CHECK_LT(sizes[i - 1].block_size, sizes[i].block_size);
    BlockSizeVerdict verdict = verdict_on(sizes[i], most, seeds);
    verdict.beaten_by = beaten_by(sizes[i], sizes);
    const bool serves_most = sizes[i].requests_rejected.mean == most.front().requests_rejected.mean;
    const bool is_quicker = !found || sizes[i].s_per_token.mean < sizes[*found].s_per_token.mean;
    if (serves_most && (verdict.is_good || (!any_good && is_quicker))) found = i;
    any_good = any_good || verdict.is_good;
    advice.verdicts.push_back(std::move(verdict));
  }
  RECTO_CHECK(found.has_value());
  const std::size_t chosen = *found;
  advice.recommended = sizes[chosen].block_size;
  advice.reason = reason_of(advice.verdicts[chosen], advice.verdicts, most, seeds) +
                  rejections_of(sizes[chosen], sizes);
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
