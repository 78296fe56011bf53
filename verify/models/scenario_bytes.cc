#include "verify/models/scenario_bytes.h"

#include <algorithm>
#include <array>

#include "core/contract.h"

namespace recto::verify {
namespace {

// A number of each byte, and 0 when there are no more.
class Bytes {
 public:
  explicit Bytes(std::string_view left) : left_(left) {}

  std::int64_t next() {
    if (left_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return byte;
  }
  // From `least` on, so many.
  std::int64_t next(std::int64_t least, std::int64_t count) { return least + next() % count; }
  bool is_empty() const { return left_.empty(); }

 private:
  std::string_view left_;
};

constexpr std::array<std::uint64_t, 4> kMasks = {~std::uint64_t{0}, 0, 1, 3};
constexpr std::int64_t kLeastBlocks = 2;
constexpr std::int64_t kBlockCounts = 14;

cache::LayerGroup read_group(Bytes& bytes) {
  cache::LayerGroup group;
  if (const std::int64_t window = bytes.next() % 11; window > 0) group.window = TokenCount(window);
  return group;
}

cache::CacheOptions read_options(Bytes& bytes) {
  cache::CacheOptions options;
  const std::int64_t blocks = bytes.next(kLeastBlocks, kBlockCounts);
  options.block_size = TokenCount(bytes.next(1, 4));
  options.null_blocks = BlockCount(bytes.next(0, 2));
  options.num_blocks = options.null_blocks + BlockCount(blocks);
  options.host_blocks = BlockCount(bytes.next(0, kBlockCounts + 2));
  options.watermark = BlockCount(bytes.next(0, kLeastBlocks));
  options.max_sequences = static_cast<std::int32_t>(bytes.next(1, 6));
  options.max_blocks_per_sequence = BlockCount(bytes.next(1, 6));
  options.groups = {read_group(bytes)};
  if (bytes.next() % 2 == 1) options.groups.push_back(read_group(bytes));
  cache::PrefixCacheOptions& prefix = options.prefix;
  const std::int64_t caching = bytes.next() % 8;
  prefix.caching = caching == 7 ? cache::PrefixCaching::kOff : cache::PrefixCaching::kOn;
  prefix.hasher.mask = kMasks[static_cast<std::size_t>(bytes.next() % 4)];
  if (const std::int64_t nodes = bytes.next() % 9; nodes > 0) {
    prefix.max_nodes = static_cast<std::int32_t>(nodes);
  }
  prefix.max_pins = static_cast<std::int32_t>(bytes.next(1, 3));
  return options;
}

// Two bytes for sets, with the bits that stand for more.
CacheCommand read_command(Bytes& bytes) {
  CacheCommand command;
  command.kind = static_cast<CommandKind>(bytes.next() % kNumCommandKinds);
  command.who = static_cast<std::int32_t>(bytes.next());
  command.who += static_cast<std::int32_t>(bytes.next() % 8) * kAnyState;
  for (std::int32_t CacheCommand::*const member :
       {&CacheCommand::base, &CacheCommand::length, &CacheCommand::count, &CacheCommand::extra}) {
    command.*member = static_cast<std::int32_t>(bytes.next() % 64);
  }
  command.token = static_cast<std::int32_t>(bytes.next());
  command.flavour = static_cast<std::int32_t>(bytes.next());
  return command;
}

class Writer {
 public:
  void add(std::int64_t byte) { text_ += static_cast<char>(static_cast<unsigned char>(byte)); }
  void add_window(const cache::LayerGroup& group) { add(group.window ? group.window->value() : 0); }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void write_options(const CacheScenario& scenario, Writer& to) {
  const cache::CacheOptions& options = scenario.options;
  const std::int64_t blocks = (options.num_blocks - options.null_blocks).value();
  to.add(std::clamp<std::int64_t>(blocks - kLeastBlocks, 0, kBlockCounts - 1));
  to.add(options.block_size.value() - 1);
  to.add(options.null_blocks.value() % 2);
  to.add(options.host_blocks.value() % (kBlockCounts + 2));
  to.add(options.watermark.value() % kLeastBlocks);
  to.add((options.max_sequences - 1) % 6);
  to.add((options.max_blocks_per_sequence.value() - 1) % 6);
  to.add_window(options.groups[0]);
  to.add(options.groups.size() > 1 ? 1 : 0);
  if (options.groups.size() > 1) to.add_window(options.groups[1]);
  const cache::PrefixCacheOptions& prefix = options.prefix;
  to.add(prefix.caching == cache::PrefixCaching::kOff ? 7 : 0);
  to.add(std::ranges::find(kMasks, prefix.hasher.mask) - kMasks.begin());
  to.add(prefix.max_nodes.value_or(0));
  to.add((prefix.max_pins - 1) % 3);
}

}  // namespace

CacheScenario scenario_from_bytes(std::string_view bytes, std::int64_t commands_max) {
  Bytes left(bytes);
  CacheScenario scenario;
  scenario.options = read_options(left);
  scenario.how.alphabet = static_cast<std::int32_t>(left.next(1, 3));
  RECTO_CHECK_EQ(cache::check_options(scenario.options), Status::ok());
  while (!left.is_empty() && std::ssize(scenario.commands) < commands_max) {
    scenario.commands.push_back(read_command(left));
  }
  return scenario;
}

std::string bytes_of_scenario(const CacheScenario& scenario) {
  Writer to;
  write_options(scenario, to);
  to.add(scenario.how.alphabet - 1);
  for (const CacheCommand& command : scenario.commands) {
    to.add(static_cast<std::int64_t>(command.kind));
    to.add(command.who & 0xff);
    to.add(command.who >> 8);
    to.add(command.base);
    to.add(command.length);
    to.add(command.count);
    to.add(command.extra);
    to.add(command.token);
    to.add(command.flavour);
  }
  return std::move(to).text();
}

}  // namespace recto::verify
