#include "experiments/report/block_size_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/contract.h"
#include "experiments/report/block_size_trade_off.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

using Sizes = std::vector<BlockSizeFigures>;

constexpr const char* kAreGood =
    " are equally good. None is recommended; more load, or a smaller pool, may tell.";

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
std::optional<SeedMean> best_of(const BlockSizeCriterion& criterion, const Sizes& sizes) {
  std::optional<SeedMean> best;
  for (const BlockSizeFigures& size : sizes) {
    const std::optional<SeedMean> figure = criterion.figure(size);
    if (!figure) return std::nullopt;
    if (!best || (figure->mean - best->mean) * criterion.sign < 0) best = figure;
  }
  return best;
}

bool decides(Weight weight, std::int64_t seeds) {
  return weight == Weight::kDecides || (weight == Weight::kDecidesOverSeeds && seeds > 1);
}

const char* remark_on(Weight weight, std::int64_t seeds) {
  if (weight == Weight::kIsShown) return " (does not decide: the times have it in them)";
  const bool is_of_one = weight == Weight::kDecidesOverSeeds && seeds == 1;
  return is_of_one ? " (does not decide: of one run)" : "";
}

// Measured by `most`, the sizes that reject the fewest requests.
BlockSizeVerdict verdict_on(const BlockSizeFigures& size, const Sizes& most, std::int64_t seeds) {
  BlockSizeVerdict verdict{.block_size = size.block_size,
                           .is_good = true,
                           .is_worse = false,
                           .drawbacks = {},
                           .not_told_apart = {},
                           .beaten_by = {}};
  for (const BlockSizeCriterion& criterion : block_size_criteria()) {
    const std::optional<SeedMean> best = best_of(criterion, most);
    const std::optional<SeedMean> figure = criterion.figure(size);
    if (!best || !figure || criterion.weight == Weight::kIsCompared) continue;
    const std::optional<std::string> worse = worse_text(criterion, *figure, *best);
    if (!worse) continue;
    if (!is_told_apart(criterion, *figure, *best)) {
      verdict.not_told_apart.push_back(*worse);
      // A percentile decides only where every seed shows it.
      if (criterion.weight == Weight::kDecides) verdict.is_good = false;
      continue;
    }
    verdict.drawbacks.push_back(*worse + remark_on(criterion.weight, seeds));
    if (!decides(criterion.weight, seeds)) continue;
    verdict.is_good = false;
    verdict.is_worse = true;
  }
  return verdict;
}

// No worse in anything, and better in one thing by more than chance.
bool beats(const BlockSizeFigures& a, const BlockSizeFigures& b) {
  bool is_better = false;
  for (const BlockSizeCriterion& criterion : block_size_criteria()) {
    const std::optional<SeedMean> ours = criterion.figure(a);
    const std::optional<SeedMean> theirs = criterion.figure(b);
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

// Of verdicts on sizes.
std::string blocks_text(const std::vector<BlockSizeVerdict>& verdicts) {
  std::vector<std::int64_t> blocks;
  for (const BlockSizeVerdict& verdict : verdicts) blocks.push_back(verdict.block_size);
  return fmt::format("block{} {}", blocks.size() > 1 ? "s" : "", fmt::join(blocks, ", "));
}

// Those on sizes that reject the fewest requests, and for which `holds`.
template <typename Holds>
std::vector<BlockSizeVerdict> those_of(const std::vector<BlockSizeVerdict>& verdicts,
                                       const Sizes& most, Holds holds) {
  std::vector<BlockSizeVerdict> those;
  std::ranges::copy_if(verdicts, std::back_inserter(those), [&](const BlockSizeVerdict& verdict) {
    return std::ranges::find(most, verdict.block_size, &BlockSizeFigures::block_size) !=
               most.end() &&
           holds(verdict);
  });
  return those;
}

double s_per_token(const BlockSizeFigures& size) {
  return size.s_per_token ? size.s_per_token->mean : std::numeric_limits<double>::infinity();
}

// Why none of `most`, the sizes that reject the fewest requests, can be recommended; empty if one
// can be.
std::string why_none(const std::vector<BlockSizeVerdict>& verdicts, const Sizes& most,
                     std::int64_t seeds) {
  const auto is_all = [&](auto holds) { return std::ranges::all_of(most, holds); };
  const std::string blocks =
      blocks_text(those_of(verdicts, most, [](const BlockSizeVerdict&) { return true; }));
  if (is_all([](const BlockSizeFigures& size) { return size.requests_finished.mean == 0; })) {
    return fmt::format("No request is served with {}: none is recommended.", blocks);
  }
  if (is_all([](const BlockSizeFigures& size) { return !size.s_per_token; })) {
    return fmt::format("No request is served under some seed with {}: none is recommended.",
                       blocks);
  }
  if (is_all([](const BlockSizeFigures& size) { return size.output_per_s.mean == 0; })) {
    return fmt::format("No request meets the latency limits with {}: none is recommended.", blocks);
  }
  const auto open =
      those_of(verdicts, most, [](const BlockSizeVerdict& verdict) { return !verdict.is_worse; });
  const bool are_good = std::ranges::all_of(open, &BlockSizeVerdict::is_good);
  if (most.size() == 1 || open.size() < most.size()) return "";
  const std::string idle = idle_remark(most);
  if (are_good && !idle.empty()) return idle + " By all else " + blocks + kAreGood;
  if (are_good) return "";
  return fmt::format(
      "{} seeds do not tell {} apart: which is better differs from seed to seed. None is "
      "recommended; more seeds may tell.",
      seeds, blocks);
}

// The one to recommend: of the good ones the largest that no other good one beats; if none is good,
// the one with the least s_per_token of `most`.
std::int64_t chosen_of(const std::vector<BlockSizeVerdict>& good, const Sizes& most) {
  for (auto verdict = good.rbegin(); verdict != good.rend(); ++verdict) {
    const bool is_beaten =
        verdict->beaten_by &&
        std::ranges::find(good, *verdict->beaten_by, &BlockSizeVerdict::block_size) != good.end();
    if (!is_beaten) return verdict->block_size;
  }
  return std::ranges::min_element(most, {}, s_per_token)->block_size;
}

// What makes a size good: block_size_criteria.h.
std::string near_best(std::int64_t seeds) {
  std::string text =
      "within a percentage point of the best in slots held empty and in prefix hits of first "
      "admissions, and within one percent in throughput and time per token";
  if (seeds > 1) {
    text +=
        ", on average over the seeds, with no percentile that is longer by more than a tenth, "
        "and under every seed";
  }
  return text;
}

// `chosen` is the recommended one of `good` sizes.
std::string among_good(const BlockSizeVerdict& chosen, const std::vector<BlockSizeVerdict>& good,
                       std::int64_t seeds) {
  const bool is_largest = chosen.block_size == good.back().block_size;
  const std::string among = good.size() == 1 ? "is the only size"
                            : is_largest ? fmt::format("is the largest of {} sizes", good.size())
                                         : fmt::format("is one of {} sizes", good.size());
  std::string text = fmt::format("Block {} {} {}", chosen.block_size, among, near_best(seeds));
  if (good.size() == 1) return text + '.';
  if (is_largest) return text + "; of equally good ones the largest is taken.";
  std::vector<std::string> passed;
  for (const BlockSizeVerdict& verdict : good) {
    if (verdict.block_size <= chosen.block_size) continue;
    passed.push_back(fmt::format("than block {} block {} is no worse in anything",
                                 verdict.block_size, *verdict.beaten_by));
  }
  return fmt::format("{}; {}.", text, fmt::join(passed, ", "));
}

// `most` are the sizes that reject the fewest requests; `verdicts` are on all.
std::string reason_of(const BlockSizeVerdict& chosen, const std::vector<BlockSizeVerdict>& verdicts,
                      const Sizes& most, std::int64_t seeds) {
  const auto good =
      those_of(verdicts, most, [](const BlockSizeVerdict& verdict) { return verdict.is_good; });
  if (most.size() == 1) {
    return fmt::format("Block {} is the size that rejects the fewest requests.", chosen.block_size);
  }
  const std::string text =
      good.empty() ? fmt::format("No size is {}; block {} takes the least time per output token{}.",
                                 near_best(seeds), chosen.block_size,
                                 seeds > 1 ? ", on average over the seeds" : "")
                   : among_good(chosen, good, seeds);
  const auto open = those_of(verdicts, most, [&](const BlockSizeVerdict& verdict) {
    return !verdict.is_good && !verdict.is_worse && verdict.block_size != chosen.block_size;
  });
  if (open.empty()) return text + price_of(chosen, seeds);
  return fmt::format("{} {} seeds do not tell whether {} may be as good.", text, seeds,
                     blocks_text(open)) +
         price_of(chosen, seeds);
}

}  // namespace

std::optional<BlockSizeAdvice> advise(const std::vector<BlockSizeFigures>& sizes,
                                      std::int64_t seeds) {
  if (sizes.size() < 2) return std::nullopt;
  const Sizes most = serving_most(sizes);
  BlockSizeAdvice advice;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) RECTO_CHECK_LT(sizes[i - 1].block_size, sizes[i].block_size);
    advice.verdicts.push_back(verdict_on(sizes[i], most, seeds));
    advice.verdicts.back().beaten_by = beaten_by(sizes[i], sizes);
  }
  advice.reason = why_none(advice.verdicts, most, seeds);
  if (!advice.reason.empty()) return advice;
  advice.recommended =
      chosen_of(those_of(advice.verdicts, most,
                         [](const BlockSizeVerdict& verdict) { return verdict.is_good; }),
                most);
  const auto found = std::ranges::find(sizes, advice.recommended, &BlockSizeFigures::block_size);
  const auto chosen = static_cast<std::size_t>(found - sizes.begin());
  advice.reason = reason_of(advice.verdicts[chosen], advice.verdicts, most, seeds) +
                  rejections_of(sizes[chosen], sizes);
  if (most.size() > 1 && !idle_remark(most).empty()) advice.reason += ' ' + idle_remark(most);
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
  return {{"recommended", advice.recommended ? Json(*advice.recommended) : Json()},
          {"reason", advice.reason},
          {"trade_offs", advice.trade_offs},
          {"verdicts", verdicts}};
}

}  // namespace recto::experiments
