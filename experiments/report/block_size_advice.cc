#include "experiments/report/block_size_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "core/contract.h"
#include "experiments/support/numbers.h"

namespace recto::experiments {
namespace {

using Sizes = std::vector<BlockSizeFigures>;
using Verdicts = std::vector<BlockSizeVerdict>;

constexpr const char* kAreGood =
    " are equally good. None is recommended; more load, or a smaller pool, may decide.";

double rejected(const BlockSizeFigures& size) { return size.requests_rejected.mean; }

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
  if (weight == Weight::kIsShown) return " (does not decide: the times include it)";
  const bool is_of_one = weight == Weight::kDecidesOverSeeds && seeds == 1;
  return is_of_one ? " (does not decide: from a single run)" : "";
}

// The verdict relative to `most`, the sizes that reject the fewest requests.
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

// The drawbacks of the recommendation; empty if there are none.
std::string price_of(const BlockSizeVerdict& chosen, std::int64_t seeds) {
  std::string text;
  if (!chosen.drawbacks.empty()) {
    text += fmt::format(" Against it: {}.", fmt::join(chosen.drawbacks, "; "));
  }
  if (!chosen.not_told_apart.empty()) {
    text += fmt::format(" Not distinguished from the best by {} seeds: {}.", seeds,
                        fmt::join(chosen.not_told_apart, "; "));
  }
  return text;
}

// The number of rejected requests, if any, and the sizes that were left out because of it.
std::string rejections_of(const BlockSizeFigures& chosen, const Sizes& sizes) {
  std::vector<std::string> left_out;
  for (const BlockSizeFigures& size : sizes) {
    if (rejected(size) == rejected(chosen)) continue;
    left_out.push_back(fmt::format("block {} ({})", size.block_size, count_text(rejected(size))));
  }
  const std::string here =
      fmt::format("rejects {} of {} requests", count_text(rejected(chosen)),
                  count_text(rejected(chosen) + chosen.requests_finished.mean));
  if (!left_out.empty()) {
    return fmt::format(" It {}; left out, as they reject more: {}.", here,
                       fmt::join(left_out, ", "));
  }
  return rejected(chosen) == 0 ? "" : " Every size " + here + ", which can never fit.";
}

std::string blocks_text(const Verdicts& verdicts) {
  std::vector<std::int64_t> blocks;
  for (const BlockSizeVerdict& verdict : verdicts) blocks.push_back(verdict.block_size);
  return fmt::format("block{} {}", blocks.size() > 1 ? "s" : "", fmt::join(blocks, ", "));
}

// Why none of `most`, the sizes that reject the fewest requests, can be recommended; empty if one
// can be. `verdicts` are the verdicts on `most`.
std::string why_none(const Verdicts& verdicts, const Sizes& most, std::int64_t seeds) {
  const auto is_all = [&](auto holds) { return std::ranges::all_of(most, holds); };
  const std::string blocks = blocks_text(verdicts);
  const std::string none = " with " + blocks + ": none is recommended.";
  if (is_all([](const BlockSizeFigures& size) { return size.requests_finished.mean == 0; })) {
    return "No request is served" + none;
  }
  if (is_all([](const BlockSizeFigures& size) { return !size.s_per_token; })) {
    return "No request is served under some seed" + none;
  }
  if (is_all([](const BlockSizeFigures& size) { return size.output_per_s.mean == 0; })) {
    return "No request meets the latency limits" + none;
  }
  if (most.size() == 1 || std::ranges::any_of(verdicts, &BlockSizeVerdict::is_worse)) return "";
  if (!std::ranges::all_of(verdicts, &BlockSizeVerdict::is_good)) {
    return fmt::format(
        "{} seeds do not distinguish {}: which is better differs from seed to seed. None is "
        "recommended; more seeds may decide.",
        seeds, blocks);
  }
  const std::string idle = idle_remark(most);
  return idle.empty() ? "" : idle + " By all else " + blocks + kAreGood;
}

// The recommended size: the largest good size that no other good size beats; if none is good, the
// size of `most` with the least time per token.
std::int64_t chosen_of(const Verdicts& good, const Sizes& most) {
  for (auto verdict = good.rbegin(); verdict != good.rend(); ++verdict) {
    const bool is_beaten =
        verdict->beaten_by &&
        std::ranges::find(good, *verdict->beaten_by, &BlockSizeVerdict::block_size) != good.end();
    if (!is_beaten) return verdict->block_size;
  }
  const auto time = [](const BlockSizeFigures& size) {
    return size.s_per_token ? size.s_per_token->mean : std::numeric_limits<double>::infinity();
  };
  return std::ranges::min_element(most, {}, time)->block_size;
}

// The definition of a good size, in words: block_size_criteria.h.
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
std::string among_good(const BlockSizeVerdict& chosen, const Verdicts& good, std::int64_t seeds) {
  const bool is_largest = chosen.block_size == good.back().block_size;
  const std::string among = good.size() == 1 ? "is the only size"
                            : is_largest ? fmt::format("is the largest of {} sizes", good.size())
                                         : fmt::format("is one of {} sizes", good.size());
  std::string text = fmt::format("Block {} {} {}", chosen.block_size, among, near_best(seeds));
  if (good.size() == 1) return text + '.';
  if (is_largest) return text + "; of equally good sizes the largest is taken.";
  std::vector<std::string> passed;
  for (const BlockSizeVerdict& verdict : good) {
    if (verdict.block_size <= chosen.block_size) continue;
    passed.push_back(fmt::format("block {1} is no worse than block {0} in anything",
                                 verdict.block_size, *verdict.beaten_by));
  }
  return fmt::format("{}; {}.", text, fmt::join(passed, ", "));
}

// `verdicts` are on the sizes that reject the fewest requests; `good` are the good ones of these.
std::string reason_of(const BlockSizeVerdict& chosen, const Verdicts& verdicts,
                      const Verdicts& good, std::int64_t seeds) {
  if (verdicts.size() == 1) {
    return fmt::format("Block {} is the size that rejects the fewest requests.", chosen.block_size);
  }
  std::string text =
      good.empty() ? fmt::format("No size is {}; block {} takes the least time per output token{}.",
                                 near_best(seeds), chosen.block_size,
                                 seeds > 1 ? ", on average over the seeds" : "")
                   : among_good(chosen, good, seeds);
  const Verdicts open = filtered(verdicts, [&](const BlockSizeVerdict& verdict) {
    return !verdict.is_good && !verdict.is_worse && verdict.block_size != chosen.block_size;
  });
  if (!open.empty()) {
    text +=
        fmt::format(" {} seeds do not show whether {} may be as good.", seeds, blocks_text(open));
  }
  return text + price_of(chosen, seeds);
}

}  // namespace

std::optional<BlockSizeAdvice> advise(const std::vector<BlockSizeFigures>& sizes,
                                      std::int64_t seeds) {
  if (sizes.size() < 2) return std::nullopt;
  const double fewest = rejected(*std::ranges::min_element(sizes, {}, rejected));
  const Sizes most =
      filtered(sizes, [&](const BlockSizeFigures& size) { return rejected(size) == fewest; });
  BlockSizeAdvice advice;
  Verdicts serving;  // on `most`
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) RECTO_CHECK_LT(sizes[i - 1].block_size, sizes[i].block_size);
    advice.verdicts.push_back(verdict_on(sizes[i], most, seeds));
    advice.verdicts.back().beaten_by = beaten_by(sizes[i], sizes);
    if (rejected(sizes[i]) == fewest) serving.push_back(advice.verdicts.back());
  }
  advice.reason = why_none(serving, most, seeds);
  if (!advice.reason.empty()) return advice;
  const Verdicts good = filtered(serving, [](const BlockSizeVerdict& one) { return one.is_good; });
  advice.recommended = chosen_of(good, most);
  const auto found = std::ranges::find(sizes, advice.recommended, &BlockSizeFigures::block_size);
  const auto chosen = static_cast<std::size_t>(found - sizes.begin());
  advice.reason = reason_of(advice.verdicts[chosen], serving, good, seeds) +
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
