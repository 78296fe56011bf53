#include "verify/models/cache_scenario.h"

#include <algorithm>
#include <array>

#include "core/contract.h"

namespace recto::verify {
namespace {

// Most pools have no more: much happens in them.
constexpr std::int64_t kFewBlocks = 14;

class Draw {
 public:
  explicit Draw(RandomStream& stream) : stream_(stream) {}

  // Both ends included.
  std::int64_t number(std::int64_t least, std::int64_t most) {
    RECTO_CHECK_LE(least, most);
    return least + static_cast<std::int64_t>(
                       stream_.next_below(static_cast<std::uint64_t>(most - least + 1)));
  }
  std::int32_t small(std::int32_t least, std::int32_t most) {
    return static_cast<std::int32_t>(number(least, most));
  }
  bool one_in(std::int64_t times) { return number(1, times) == 1; }

 private:
  RandomStream& stream_;
};

cache::PrefixCacheOptions draw_prefix(Draw& draw, const ScenarioDomain& domain) {
  cache::PrefixCacheOptions prefix;
  if (draw.one_in(10)) prefix.caching = cache::PrefixCaching::kOff;
  if (draw.one_in(3)) prefix.hasher.width = cache::HashWidth::k128;
  if (domain.has_weak_hashes && draw.one_in(2)) {
    constexpr std::array<std::uint64_t, 4> kMasks = {0, 0, 1, 3};
    prefix.hasher.mask = kMasks[static_cast<std::size_t>(draw.number(0, 3))];
  }
  if (draw.one_in(3)) prefix.max_nodes = draw.small(1, 8);
  prefix.max_items_per_block = draw.small(0, 2);
  prefix.max_pins = draw.small(1, 3);
  return prefix;
}

cache::CacheOptions draw_options(Draw& draw, const ScenarioDomain& domain) {
  cache::CacheOptions options;
  options.block_size = TokenCount(draw.number(1, 4));
  options.null_blocks = BlockCount(draw.one_in(4) ? draw.number(1, 2) : 0);
  const bool is_large = domain.blocks_min > kFewBlocks || draw.one_in(3);
  const std::int64_t most = is_large ? domain.blocks_max : std::min(domain.blocks_max, kFewBlocks);
  const std::int64_t blocks = draw.number(domain.blocks_min, most);
  options.num_blocks = options.null_blocks + BlockCount(blocks);
  if (domain.has_swaps) options.host_blocks = BlockCount(draw.number(0, blocks));
  if (draw.one_in(3)) options.watermark = BlockCount(draw.number(0, std::min<int>(3, blocks - 1)));
  options.max_sequences = draw.small(1, 8);
  options.max_blocks_per_sequence = BlockCount(draw.number(1, 8));
  const std::int64_t groups = draw.one_in(2) ? 1 : draw.number(1, domain.groups_max);
  options.groups.clear();
  for (std::int64_t i = 0; i < groups; ++i) {
    cache::LayerGroup group{.num_layers = draw.small(1, 2)};
    if (domain.has_windows && !draw.one_in(2)) {
      group.window = TokenCount(draw.number(1, 2 * options.block_size.value() + 2));
    }
    options.groups.push_back(group);
  }
  options.prefix = draw_prefix(draw, domain);
  return options;
}

// How often each kind comes; some never.
using Weights = std::array<std::int64_t, kNumCommandKinds>;

Weights draw_weights(Draw& draw, const ScenarioDomain& domain) {
  using enum CommandKind;
  Weights weights{};
  const auto set = [&](CommandKind kind, std::int64_t weight) {
    weights[static_cast<std::size_t>(kind)] = draw.one_in(4) ? 0 : draw.number(1, weight);
  };
  for (const CommandKind kind : {kAdmit, kAppend, kAppendBatch, kCommit}) set(kind, 12);
  for (const CommandKind kind : {kReserve, kFork, kBeamStep, kTruncate, kRelease}) set(kind, 5);
  for (const CommandKind kind : {kPreempt, kResume, kPin, kUnpin}) set(kind, 4);
  set(kReset, 1);
  set(kMisuse, 1);
  if (domain.has_swaps) {
    for (const CommandKind kind : {kSwapOut, kSwapIn, kComplete}) set(kind, 6);
  }
  const auto at_least = [&](CommandKind kind, std::int64_t weight) {
    std::int64_t& now = weights[static_cast<std::size_t>(kind)];
    now = std::max(now, weight);
  };
  at_least(kAdmit, 2);
  at_least(kAppend, 2);
  if (draw.one_in(2)) at_least(kCommit, 4);
  return weights;
}

CommandKind draw_kind(Draw& draw, const Weights& weights) {
  std::int64_t sum = 0;
  for (const std::int64_t weight : weights) sum += weight;
  std::int64_t at = draw.number(0, sum - 1);
  int kind = 0;
  while (at >= weights[static_cast<std::size_t>(kind)]) {
    at -= weights[static_cast<std::size_t>(kind++)];
  }
  return static_cast<CommandKind>(kind);
}

std::int32_t draw_who(Draw& draw) {
  const std::int32_t index = draw.small(0, 7);
  return draw.one_in(12) ? kAnyState + index : index;
}

std::int32_t draw_set(Draw& draw) {
  std::int32_t set = draw.one_in(3) ? 0 : draw.small(1, 255);
  if (draw.one_in(3)) set += kReversed;
  if (draw.one_in(30)) set += kTwice;
  if (draw.one_in(20)) set += kAnyState;
  return set;
}

bool is_for_set(CommandKind kind) {
  using enum CommandKind;
  return kind == kAppendBatch || kind == kBeamStep || kind == kSwapOut || kind == kSwapIn;
}

bool has_prompt(CommandKind kind) {
  using enum CommandKind;
  return kind == kAdmit || kind == kResume || kind == kPin;
}

void draw_prompt(Draw& draw, const CacheScenario& scenario, const ScenarioDomain& domain,
                 CacheCommand& command) {
  const auto block_size = static_cast<std::int32_t>(scenario.options.block_size.value());
  const auto blocks = static_cast<std::int32_t>(scenario.options.max_blocks_per_sequence.value());
  command.base = draw.one_in(4) ? 0 : draw.small(1, 7);
  command.length = draw.one_in(3) ? blocks * block_size : draw.small(0, blocks * block_size);
  command.count = draw.one_in(2) ? draw.small(0, 2) : draw.small(1, 2 * block_size + 1);
  if (draw.one_in(3)) command.extra = 1 + draw.small(0, blocks * block_size + 1);
  if (domain.has_keys && draw.one_in(4)) command.flavour = draw.small(0, 255);
}

CacheCommand draw_command(Draw& draw, CommandKind kind, const CacheScenario& scenario,
                          const ScenarioDomain& domain) {
  using enum CommandKind;
  const auto block_size = static_cast<std::int32_t>(scenario.options.block_size.value());
  CacheCommand command{.kind = kind};
  command.who = is_for_set(kind) ? draw_set(draw) : draw_who(draw);
  command.token = draw.one_in(3) ? 0 : draw.small(0, 255);
  if (has_prompt(kind)) {
    draw_prompt(draw, scenario, domain, command);
    return command;
  }
  if (draw.one_in(30)) command.extra = draw.small(1, 2);
  switch (kind) {
    case kAppend:
      command.count = draw.one_in(2) ? 1 : draw.small(0, 2 * block_size + 1);
      break;
    case kReserve:
      command.count = draw.small(0, 2 * block_size + 1);
      command.length = draw.one_in(6) ? draw.small(0, 3) : 0;
      break;
    case kCommit:
      if (command.extra == 0) command.extra = draw.one_in(30) ? kBadItem : draw.small(0, 1);
      break;
    case kBeamStep:
      command.count = draw.small(0, 4);
      break;
    case kTruncate:
    case kFork:
      command.length = draw.small(0, 63);
      command.flavour = draw.small(0, 1);
      break;
    case kSwapIn:
      command.count = draw.one_in(2) ? 0 : draw.small(1, block_size + 1);
      break;
    default:
      break;
  }
  return command;
}

// Families that go to host memory and come back: there is room for them, and little else is done.
void prefer_swaps(Draw& draw, CacheScenario& scenario, Weights& weights) {
  using enum CommandKind;
  scenario.options.host_blocks = scenario.options.num_blocks;
  scenario.options.max_sequences = std::max(scenario.options.max_sequences, 3);
  for (std::int64_t& weight : weights)
    weight = draw.one_in(2) ? 0 : std::min<std::int64_t>(weight, 2);
  for (const CommandKind kind : {kAdmit, kAppend, kFork, kSwapOut, kSwapIn, kComplete}) {
    weights[static_cast<std::size_t>(kind)] = draw.number(3, 8);
  }
}

}  // namespace

CacheScenario draw_scenario(RandomStream& stream, const ScenarioDomain& domain) {
  Draw draw(stream);
  CacheScenario scenario;
  scenario.options = draw_options(draw, domain);
  scenario.how.alphabet = draw.small(1, 3);
  Weights weights = draw_weights(draw, domain);
  if (domain.has_swaps && draw.one_in(4)) prefer_swaps(draw, scenario, weights);
  for (std::int64_t n = draw.number(domain.commands_max / 4, domain.commands_max); n > 0; --n) {
    scenario.commands.push_back(draw_command(draw, draw_kind(draw, weights), scenario, domain));
  }
  return scenario;
}

std::ostream& operator<<(std::ostream& out, const CacheScenario& scenario) {
  const cache::CacheOptions& options = scenario.options;
  out << options.num_blocks << " blocks of " << options.block_size << ", " << options.null_blocks
      << " null, " << options.host_blocks << " on the host, watermark " << options.watermark << "\n"
      << options.max_sequences << " sequences of " << options.max_blocks_per_sequence
      << " blocks\ngroups";
  for (const cache::LayerGroup& group : options.groups) {
    out << (group.window ? " window " + std::to_string(group.window->value()) : " full");
  }
  const cache::PrefixCacheOptions& prefix = options.prefix;
  out << "\ncaching " << (prefix.caching == cache::PrefixCaching::kOn ? "on" : "off")
      << ", hash mask " << prefix.hasher.mask << ", nodes ";
  out << (prefix.max_nodes ? std::to_string(*prefix.max_nodes) : "as blocks");
  out << ", items " << prefix.max_items_per_block << ", pins " << prefix.max_pins << "\nalphabet "
      << scenario.how.alphabet << "\n";
  for (const CacheCommand& command : scenario.commands) out << "  " << command << "\n";
  return out;
}

}  // namespace recto::verify
