// What is simpler than a scenario: fewer commands, smaller numbers in them, a plainer cache.

#include <utility>

#include "verify/models/cache_scenario.h"

namespace recto::verify {
namespace {

// Of long lists only larger pieces are left out, and no number is touched: candidates are copies.
constexpr std::size_t kPiecesMax = 128;
constexpr std::size_t kFewCommands = 60;

void add_shorter(const CacheScenario& scenario, std::vector<CacheScenario>& found) {
  const std::size_t length = scenario.commands.size();
  const std::size_t least = 1 + length / kPiecesMax;
  for (std::size_t piece = length; piece >= least; piece /= 2) {
    for (std::size_t begin = 0; begin + piece <= length; begin += piece) {
      CacheScenario shorter = scenario;
      const auto from = shorter.commands.begin() + static_cast<std::ptrdiff_t>(begin);
      shorter.commands.erase(from, from + static_cast<std::ptrdiff_t>(piece));
      found.push_back(std::move(shorter));
    }
  }
}

void add_smaller_numbers(const CacheScenario& scenario, std::vector<CacheScenario>& found) {
  using Member = std::int32_t CacheCommand::*;
  for (std::size_t i = 0; i < scenario.commands.size(); ++i) {
    for (const Member member :
         {&CacheCommand::who, &CacheCommand::base, &CacheCommand::length, &CacheCommand::count,
          &CacheCommand::token, &CacheCommand::extra, &CacheCommand::flavour}) {
      const std::int32_t now = scenario.commands[i].*member;
      for (const std::int32_t smaller : {0, now / 2, now - 1}) {
        if (smaller >= now) continue;
        CacheScenario simpler = scenario;
        simpler.commands[i].*member = smaller;
        found.push_back(std::move(simpler));
        if (smaller == now - 1) break;  // the others are the same
      }
    }
  }
}

template <typename Change>
void add_changed(const CacheScenario& scenario, std::vector<CacheScenario>& found,
                 const Change& change) {
  CacheScenario simpler = scenario;
  change(simpler.options, simpler.how);
  if (cache::check_options(simpler.options).is_ok()) found.push_back(std::move(simpler));
}

template <typename Count>
void add_fewer(const CacheScenario& scenario, std::vector<CacheScenario>& found, std::int64_t least,
               Count cache::CacheOptions::*member) {
  const std::int64_t now = (scenario.options.*member).value();
  for (const std::int64_t fewer : {least, (least + now) / 2, now - 1}) {
    if (fewer < least || fewer >= now) continue;
    add_changed(scenario, found, [&](auto& options, auto&) { options.*member = Count(fewer); });
  }
}

void add_plainer_caches(const CacheScenario& scenario, std::vector<CacheScenario>& found) {
  const cache::CacheOptions& now = scenario.options;
  for (std::size_t i = 0; i < now.groups.size(); ++i) {
    if (now.groups.size() > 1) {
      add_changed(scenario, found, [i](auto& options, auto&) {
        options.groups.erase(options.groups.begin() + static_cast<std::ptrdiff_t>(i));
      });
    }
    if (!now.groups[i].window) continue;
    add_changed(scenario, found, [i](auto& options, auto&) { options.groups[i].window.reset(); });
  }
  add_fewer(scenario, found, 0, &cache::CacheOptions::null_blocks);
  add_fewer(scenario, found, 0, &cache::CacheOptions::watermark);
  add_fewer(scenario, found, 0, &cache::CacheOptions::host_blocks);
  add_fewer(scenario, found, 1, &cache::CacheOptions::num_blocks);
  add_fewer(scenario, found, 1, &cache::CacheOptions::block_size);
  add_fewer(scenario, found, 1, &cache::CacheOptions::max_blocks_per_sequence);
  if (now.prefix.max_nodes) {
    add_changed(scenario, found, [](auto& options, auto&) { options.prefix.max_nodes.reset(); });
  }
  if (now.prefix.hasher.mask != cache::BlockHasher{}.mask) {
    add_changed(scenario, found, [](auto& options, auto&) { options.prefix.hasher = {}; });
  }
  if (scenario.how.alphabet > 1) {
    add_changed(scenario, found, [](auto&, auto& how) { --how.alphabet; });
  }
}

}  // namespace

std::vector<CacheScenario> simpler_scenarios(const CacheScenario& scenario) {
  std::vector<CacheScenario> found;
  add_shorter(scenario, found);
  add_plainer_caches(scenario, found);
  if (scenario.commands.size() <= kFewCommands) add_smaller_numbers(scenario, found);
  return found;
}

}  // namespace recto::verify
