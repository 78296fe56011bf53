#include "cuda/cache/testing/cache_scenario.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/contract.h"

namespace recto::cache::testing {
namespace {

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kCommandBytes = 12;
// Most pools are no larger, so that many events happen in them.
constexpr std::int64_t kFewBlocks = 14;
// Long lists shrink only by larger pieces, without changes of bytes, because each candidate is a
// copy.
constexpr std::size_t kPiecesMax = 128;
constexpr std::size_t kFewCommands = 60;

// Reads one number from each byte; 0 after the last byte.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : left_(bytes) {}

  // Both ends are included; at most 256 values.
  std::int64_t number(std::int64_t least, std::int64_t most) {
    RECTO_CHECK_LE(least, most);
    if (left_.empty()) return least;
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return least + byte % (most - least + 1);
  }
  std::int32_t small(std::int32_t least, std::int32_t most) {
    return static_cast<std::int32_t>(number(least, most));
  }
  bool one_in(std::int64_t times) { return number(1, times) == times; }

 private:
  std::string_view left_;
};

PrefixCacheOptions read_prefix(Numbers& numbers, const ScenarioDomain& domain) {
  PrefixCacheOptions prefix;
  if (numbers.one_in(10)) prefix.caching = PrefixCaching::kOff;
  if (numbers.one_in(3)) prefix.hasher.width = HashWidth::k128;
  constexpr std::array<std::uint64_t, 3> kMasks = {0, 1, 3};
  const bool is_weak = numbers.one_in(2);
  const std::uint64_t mask = kMasks[static_cast<std::size_t>(numbers.number(0, 2))];
  if (domain.has_weak_hashes && is_weak) prefix.hasher.mask = mask;
  const bool is_limited = numbers.one_in(3);
  const std::int32_t nodes = numbers.small(0, 8);
  if (is_limited) prefix.max_nodes = nodes;
  prefix.max_items_per_block = numbers.small(0, 2);
  prefix.max_pins = numbers.small(0, 3);
  return prefix;
}

CacheOptions read_options(Numbers& numbers, const ScenarioDomain& domain) {
  CacheOptions options;
  options.block_size = TokenCount(numbers.number(1, 4));
  options.null_blocks = BlockCount(std::max<std::int64_t>(numbers.number(0, 8) - 6, 0));
  const bool is_large = numbers.one_in(3) || domain.blocks_min > kFewBlocks;
  const std::int64_t most = is_large ? domain.blocks_max : std::min(domain.blocks_max, kFewBlocks);
  const std::int64_t blocks = numbers.number(domain.blocks_min, most);
  options.num_blocks = options.null_blocks + BlockCount(blocks);
  const std::int64_t host = numbers.number(0, blocks);
  if (domain.has_swaps) options.host_blocks = BlockCount(host);
  const bool has_watermark = numbers.one_in(3);
  const std::int64_t watermark = numbers.number(0, std::min<std::int64_t>(3, blocks - 1));
  if (has_watermark) options.watermark = BlockCount(watermark);
  options.max_sequences = numbers.small(1, 8);
  options.max_blocks_per_sequence = BlockCount(numbers.number(1, 8));
  const bool has_groups = numbers.one_in(2);
  const std::int64_t groups = numbers.number(1, domain.groups_max);
  options.groups.clear();
  for (std::int64_t i = 0; i < (has_groups ? groups : 1); ++i) {
    LayerGroup group{.num_layers = numbers.small(1, 2)};
    const bool has_window = numbers.one_in(2);
    const std::int64_t window = numbers.number(1, 2 * options.block_size.value() + 2);
    if (domain.has_windows && has_window) group.window = TokenCount(window);
    options.groups.push_back(group);
  }
  options.prefix = read_prefix(numbers, domain);
  return options;
}

// The relative frequencies of command kinds; some are 0.
using Weights = std::array<std::int64_t, kNumCommandKinds>;

Weights read_weights(Numbers& numbers, const ScenarioDomain& domain) {
  using enum CommandKind;
  Weights weights{};
  const auto set = [&](std::initializer_list<CommandKind> kinds, std::int64_t most) {
    for (const CommandKind kind : kinds) {
      weights[static_cast<std::size_t>(kind)] = numbers.number(-most / 3, most);
    }
  };
  set({kAdmit, kAppend, kAppendBatch, kCommit}, 12);
  set({kReserve, kFork, kBeamStep, kTruncate, kRelease}, 5);
  set({kPreempt, kResume, kPin, kUnpin}, 4);
  set({kReset, kMisuse}, 1);
  if (domain.has_swaps) set({kSwapOut, kSwapIn, kComplete}, 6);
  for (std::int64_t& weight : weights) weight = std::max<std::int64_t>(weight, 0);
  const auto at_least = [&](CommandKind kind, std::int64_t weight) {
    std::int64_t& now = weights[static_cast<std::size_t>(kind)];
    now = std::max(now, weight);
  };
  at_least(kAdmit, 2);
  at_least(kAppend, 2);
  if (numbers.one_in(2)) at_least(kCommit, 4);
  return weights;
}

// Related sequences are swapped out and in: there is room for them, and other commands are rare.
void prefer_swaps(Numbers& numbers, CacheScenario& scenario, Weights& weights) {
  using enum CommandKind;
  scenario.options.host_blocks = scenario.options.num_blocks;
  scenario.options.max_sequences = std::max(scenario.options.max_sequences, 3);
  for (std::int64_t& weight : weights) weight = std::min<std::int64_t>(weight, 1);
  for (const CommandKind kind : {kAdmit, kAppend, kFork, kSwapOut, kSwapIn, kComplete}) {
    weights[static_cast<std::size_t>(kind)] = numbers.number(3, 8);
  }
}

CommandKind read_kind(Numbers& numbers, const Weights& weights) {
  std::int64_t sum = 0;
  for (const std::int64_t weight : weights) sum += weight;
  std::int64_t at = numbers.number(0, sum - 1);
  int kind = 0;
  while (at >= weights[static_cast<std::size_t>(kind)]) {
    at -= weights[static_cast<std::size_t>(kind++)];
  }
  return static_cast<CommandKind>(kind);
}

std::int32_t read_who(Numbers& numbers, CommandKind kind) {
  using enum CommandKind;
  if (kind != kAppendBatch && kind != kBeamStep && kind != kSwapOut && kind != kSwapIn) {
    const std::int32_t index = numbers.small(0, 7);
    return numbers.one_in(12) ? kAnyState + index : index;
  }
  std::int32_t set = numbers.small(0, 255);
  const std::int32_t variant = numbers.small(0, 59);  // a third, a thirtieth, a twentieth
  if (variant >= 40) set = 0;
  if (variant % 3 == 2) set += kReversed;
  if (variant == 28 || variant == 29) set += kTwice;
  if (variant >= 12 && variant < 15) set += kAnyState;
  return set;
}

void read_prompt(Numbers& numbers, const CacheScenario& scenario, CacheCommand& command) {
  const auto block_size = static_cast<std::int32_t>(scenario.options.block_size.value());
  const auto blocks = static_cast<std::int32_t>(scenario.options.max_blocks_per_sequence.value());
  command.base = std::max(numbers.small(0, 9) - 2, 0);
  command.length = numbers.small(0, blocks * block_size * 3 / 2);
  command.length = std::min(command.length, blocks * block_size);
  command.count = numbers.one_in(2) ? numbers.small(1, 2 * block_size + 1) : numbers.small(0, 2);
  if (numbers.one_in(3)) command.extra = 1 + numbers.small(0, blocks * block_size + 1);
  const bool has_keys = numbers.one_in(4);
  if (scenario.domain.has_keys && has_keys) command.flavour = numbers.small(0, 255);
}

CacheCommand read_command(Numbers numbers, const Weights& weights, const CacheScenario& scenario) {
  using enum CommandKind;
  const auto block_size = static_cast<std::int32_t>(scenario.options.block_size.value());
  CacheCommand command{.kind = read_kind(numbers, weights)};
  command.who = read_who(numbers, command.kind);
  command.token = numbers.small(0, 255);
  if (command.kind == kAdmit || command.kind == kResume || command.kind == kPin) {
    read_prompt(numbers, scenario, command);
    return command;
  }
  if (numbers.one_in(30)) command.extra = numbers.small(1, 2);
  switch (command.kind) {
    case kAppend:
      command.count = numbers.one_in(2) ? numbers.small(0, 2 * block_size + 1) : 1;
      break;
    case kReserve:
      command.count = numbers.small(0, 2 * block_size + 1);
      command.length = numbers.one_in(6) ? numbers.small(0, 3) : 0;
      break;
    case kCommit:
      if (command.extra == 0) command.extra = numbers.one_in(30) ? kBadItem : numbers.small(0, 1);
      break;
    case kBeamStep:
      command.count = numbers.small(0, 4);
      break;
    case kTruncate:
    case kFork:
      command.length = numbers.small(0, 63);
      command.flavour = numbers.small(0, 1);
      break;
    case kSwapIn:
      command.count = numbers.one_in(2) ? numbers.small(1, block_size + 1) : 0;
      break;
    default:
      break;
  }
  return command;
}

}  // namespace

CacheScenario scenario_of(const ScenarioDomain& domain, const std::string& bytes) {
  CacheScenario scenario{.domain = domain, .bytes = bytes};
  const std::string_view all = scenario.bytes;
  Numbers header(all.substr(0, kHeaderBytes));
  scenario.options = read_options(header, domain);
  RECTO_CHECK_EQ(check_options(scenario.options), Status::ok());
  scenario.alphabet = header.small(1, 3);
  Weights weights = read_weights(header, domain);
  if (domain.has_swaps && header.one_in(4)) prefer_swaps(header, scenario, weights);
  for (std::size_t begin = kHeaderBytes; begin < all.size(); begin += kCommandBytes) {
    if (std::ssize(scenario.commands) == domain.commands_max) break;
    const Numbers numbers(all.substr(begin, kCommandBytes));
    scenario.commands.push_back(read_command(numbers, weights, scenario));
  }
  return scenario;
}

CacheScenario draw_scenario(RandomStream& stream, const ScenarioDomain& domain) {
  const std::int64_t least = domain.commands_max / 4;
  const auto more = static_cast<std::uint64_t>(domain.commands_max - least + 1);
  const auto commands = static_cast<std::size_t>(least) + stream.next_below(more);
  std::string bytes(kHeaderBytes + kCommandBytes * commands, '\0');
  for (char& byte : bytes) byte = static_cast<char>(stream.next_below(256));
  return scenario_of(domain, bytes);
}

std::vector<CacheScenario> simpler_scenarios(const CacheScenario& scenario) {
  std::vector<CacheScenario> found;
  const std::size_t length = scenario.commands.size();
  for (std::size_t piece = length; piece >= 1 + length / kPiecesMax; piece /= 2) {
    for (std::size_t begin = 0; begin + piece <= length; begin += piece) {
      std::string shorter = scenario.bytes;
      shorter.erase(kHeaderBytes + begin * kCommandBytes, piece * kCommandBytes);
      found.push_back(scenario_of(scenario.domain, shorter));
    }
  }
  const std::size_t end = length > kFewCommands ? kHeaderBytes : scenario.bytes.size();
  for (std::size_t i = 0; i < std::min(end, scenario.bytes.size()); ++i) {
    const int now = static_cast<unsigned char>(scenario.bytes[i]);
    for (const int smaller : {0, now / 2, now - 1}) {
      if (smaller >= now) break;
      std::string simpler = scenario.bytes;
      simpler[i] = static_cast<char>(smaller);
      found.push_back(scenario_of(scenario.domain, simpler));
    }
  }
  return found;
}

std::ostream& operator<<(std::ostream& out, const CacheScenario& scenario) {
  const CacheOptions& options = scenario.options;
  out << options.num_blocks << " blocks of " << options.block_size << ", " << options.null_blocks
      << " null, " << options.host_blocks << " on the host, watermark " << options.watermark << "\n"
      << options.max_sequences << " sequences of " << options.max_blocks_per_sequence
      << " blocks\ngroups";
  for (const LayerGroup& group : options.groups) {
    out << (group.window ? " window " + std::to_string(group.window->value()) : " full");
  }
  const PrefixCacheOptions& prefix = options.prefix;
  out << "\ncaching " << (prefix.caching == PrefixCaching::kOn ? "on" : "off") << ", hash mask "
      << prefix.hasher.mask << ", nodes ";
  out << (prefix.max_nodes ? std::to_string(*prefix.max_nodes) : "as blocks");
  out << ", items " << prefix.max_items_per_block << ", pins " << prefix.max_pins << "\nalphabet "
      << scenario.alphabet << "\n";
  for (const CacheCommand& command : scenario.commands) out << "  " << command << "\n";
  return out;
}

}  // namespace recto::cache::testing
