#include "experiments/support/grid_remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
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

std::vector<ModelWindow> own_windows(const std::vector<ResolvedRun>& runs) {
  std::vector<ModelWindow> windows;
  for (const ResolvedRun& run : runs) {
    const RunConfig& config = run.config;
    if (!run.model.sliding_window || config.window) continue;
    auto found = std::ranges::find(windows, run.model.name, &ModelWindow::model);
    if (found == windows.end()) {
      found = windows.insert(windows.end(),
                             {run.model.name, run.model.sliding_window->value(), {}, {}});
    }
    const bool is_on = run.options.scheduler.window > TokenCount(0);
    add_once(is_on ? found->on : found->off,
             config.decoding == "single"
                 ? config.allocator
                 : fmt::format("{} with {}", config.allocator, config.decoding));
  }
  return windows;
}

void add_window_remarks(const std::vector<ResolvedRun>& runs, std::vector<std::string>& remarks) {
  for (const ModelWindow& window : own_windows(runs)) {
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

// Time models without a term for blocks, and the block sizes that they are given.
void add_block_size_remarks(const std::vector<ResolvedRun>& runs,
                            std::vector<std::string>& remarks) {
  std::map<std::string, std::set<std::int64_t>> block_sizes;
  for (const ResolvedRun& run : runs) {
    if (!is_contiguous(run.config))
      block_sizes[run.config.time_model].insert(run.config.block_size);
  }
  for (const auto& [time_model, sizes] : block_sizes) {
    if (sizes.size() == 1) continue;
    RunConfig config;
    config.time_model = time_model;
    const auto facts = time_model_facts(config);
    if (!facts.is_ok() || facts.value().knows_blocks) continue;
    remarks.push_back(
        fmt::format("Step times of {} do not depend on the block size, so that small blocks look "
                    "free: its file has no per_kv_block_ns. Compare memory only.",
                    time_model));
  }
}

}  // namespace

std::vector<std::string> grid_remarks(std::span<const RunConfig> configs) {
  std::vector<ResolvedRun> runs;
  for (const RunConfig& config : configs) {
    Result<ResolvedRun> run = resolve(config);
    if (run.is_ok()) runs.push_back(std::move(run).value());
  }
  std::vector<std::string> remarks;
  add_window_remarks(runs, remarks);
  add_block_size_remarks(runs, remarks);
  return remarks;
}

}  // namespace recto::experiments
