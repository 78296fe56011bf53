#include "experiments/support/grid_remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/status.h"
#include "core/units.h"
#include "experiments/support/numbers.h"
#include "experiments/support/resolved_run.h"

namespace recto::experiments {
namespace {

void add_once(std::vector<std::string>& texts, const std::string& text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
}

// Where a model's own sliding window is on and where it is off.
struct ModelWindow {
  std::string model;
  std::int64_t tokens = 0;
  std::vector<std::string> on;
  std::vector<std::string> off;
};

// One run at a time: a grid may have a million.
class OwnWindows {
 public:
  void add(const ResolvedRun& run) {
    const RunConfig& config = run.config;
    if (!run.model.sliding_window || config.window) return;
    auto found = std::ranges::find(windows_, run.model.name, &ModelWindow::model);
    if (found == windows_.end()) {
      found = windows_.insert(windows_.end(),
                              {run.model.name, run.model.sliding_window->value(), {}, {}});
    }
    const bool is_on = run.options.scheduler.window > TokenCount(0);
    add_once(is_on ? found->on : found->off,
             config.decoding == "single"
                 ? config.allocator
                 : fmt::format("{} with {}", config.allocator, config.decoding));
  }

  void remark(std::vector<std::string>& remarks) const {
    for (const ModelWindow& window : windows_) {
      if (window.off.empty()) continue;
      const std::string where =
          window.on.empty() ? "" : fmt::format("on for {} and ", fmt::join(window.on, ", "));
      remarks.push_back(fmt::format(
          "The sliding window of {}, {} tokens, is {}off for {}: which slots of shared blocks are "
          "out of sight is not modelled.{}",
          window.model, grouped(window.tokens), where, fmt::join(window.off, ", "),
          window.on.empty() ? "" : " --window 0 turns it off for all."));
    }
  }

 private:
  std::vector<ModelWindow> windows_;
};

// Time models without a term for blocks, and the block sizes that they are given.
class BlockSizes {
 public:
  void add(const ResolvedRun& run) {
    if (!is_contiguous(run.config)) sizes_[run.config.time_model].insert(run.config.block_size);
  }

  void remark(std::vector<std::string>& remarks) const {
    for (const auto& [time_model, sizes] : sizes_) {
      if (sizes.size() == 1) continue;
      RunConfig config;
      config.time_model = time_model;
      const auto facts = time_model_facts(config);
      if (!facts.is_ok() || facts.value().knows_blocks) continue;
      remarks.push_back(fmt::format(
          "Step times of {} do not depend on the block size, so that small blocks look free: its "
          "file has no per_kv_block_ns. Compare memory only.",
          time_model));
    }
  }

 private:
  std::map<std::string, std::set<std::int64_t>> sizes_;
};

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// "NVIDIA A100-SXM4-80GB" is A100-80, "NVIDIA L40S" is not L4.
bool is_card(std::string_view driver_name, std::string_view gpu) {
  const std::vector<std::string> driver_words = words_of(driver_name);
  return std::ranges::all_of(words_of(gpu), [&](const std::string& word) {
    return std::ranges::any_of(driver_words, [&](const std::string& other) {
      return other == word || other == word + "gb";
    });
  });
}

// Step times that were measured on another card than the one that --gpu names.
class OtherCards {
 public:
  void add(const ResolvedRun& run) { pairs_.insert({run.config.time_model, run.gpu.name}); }

  void remark(std::vector<std::string>& remarks) const {
    for (const auto& [time_model, gpu] : pairs_) {
      RunConfig config;
      config.time_model = time_model;
      const auto facts = time_model_facts(config);
      if (!facts.is_ok() || !facts.value().measured_on) continue;
      const std::string& card = *facts.value().measured_on;
      if (is_card(card, gpu)) continue;
      remarks.push_back(
          fmt::format("WARNING: two cards in one run: --time-model {} was measured on '{}', while "
                      "memory and links are those of --gpu {}.",
                      time_model, card, gpu));
    }
  }

 private:
  std::set<std::pair<std::string, std::string>> pairs_;
};

}  // namespace

std::vector<std::string> grid_remarks(std::span<const RunConfig> configs) {
  OwnWindows windows;
  BlockSizes block_sizes;
  OtherCards other_cards;
  for (const RunConfig& config : configs) {
    const Result<ResolvedRun> run = resolve(config);
    if (!run.is_ok()) continue;
    windows.add(run.value());
    block_sizes.add(run.value());
    other_cards.add(run.value());
  }
  std::vector<std::string> remarks;
  windows.remark(remarks);
  block_sizes.remark(remarks);
  other_cards.remark(remarks);
  return remarks;
}

}  // namespace recto::experiments
