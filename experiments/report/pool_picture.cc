#include "experiments/report/pool_picture.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/contract.h"

namespace recto::experiments {
namespace {

constexpr std::int64_t kLevels = 15;

enum State : std::uint8_t { kUsed, kReserved, kInternal, kCached, kStates };

struct Row {
  std::array<std::int64_t, kStates> slots{};
  std::int64_t owner = -1;
  std::int64_t owner_slots = 0;
};

// The states of a block's or region's slots, over all of its holders; in slots from its start.
struct Held {
  std::int64_t out = 0;   // up to here outside the window
  std::int64_t used = 0;  // up to here tokens
  std::int64_t kept = 0;  // up to here future tokens
  std::int64_t owner = -1;
};

class Picture {
 public:
  explicit Picture(const MemoryMap& map)
      : pool_slots_(map.pool_slots), rows_(static_cast<std::size_t>(map.rows)) {}

  void add(std::int64_t begin, std::int64_t end, State state, std::int64_t owner) {
    while (begin < end) {
      const std::int64_t number = begin * size() / pool_slots_;
      const std::int64_t stop = std::min(end, row_begin(number + 1));
      Row& row = rows_[static_cast<std::size_t>(number)];
      const std::int64_t slots = stop - begin;
      row.slots[state] += slots;
      if (owner >= 0 && slots > row.owner_slots) {
        row.owner = owner;
        row.owner_slots = slots;
      }
      begin = stop;
    }
  }

  void add(std::int64_t begin, std::int64_t size, const Held& held) {
    add(begin, begin + held.out, kInternal, held.owner);
    add(begin + held.out, begin + held.used, kUsed, held.owner);
    add(begin + held.used, begin + held.kept, kReserved, held.owner);
    add(begin + held.kept, begin + size, kInternal, held.owner);
  }

  std::vector<MapCell> cells() const {
    std::vector<MapCell> cells;
    for (std::int64_t number = 0; number < size(); ++number) {
      const Row& row = rows_[static_cast<std::size_t>(number)];
      const std::int64_t slots = row_begin(number + 1) - row_begin(number);
      const auto level = [&](State state) {
        return static_cast<std::uint8_t>((row.slots[state] * kLevels + slots / 2) / slots);
      };
      cells.push_back(
          {.used = level(kUsed),
           .reserved = level(kReserved),
           .internal = level(kInternal),
           .cached = level(kCached),
           .owner = static_cast<std::uint8_t>(row.owner < 0 ? 0 : 1 + row.owner % 255)});
    }
    return cells;
  }

  std::int64_t sum(State state) const {
    std::int64_t sum = 0;
    for (const Row& row : rows_) sum += row.slots[state];
    return sum;
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  // Row r has the slots from row_begin(r) up to row_begin(r + 1).
  std::int64_t row_begin(std::int64_t row) const {
    return (row * pool_slots_ + size() - 1) / size();
  }

  std::int64_t pool_slots_;
  std::vector<Row> rows_;
};

// For a sequence's `size` slots from position `from` on. The next token, at position `context`,
// sees the positions above context - window; a window of 0 sees all.
Held held_of(const sim::Request& request, std::int64_t context, std::int64_t window,
             std::int64_t from, std::int64_t size) {
  const auto within = [&](std::int64_t position) {
    return std::clamp<std::int64_t>(position - from, 0, size);
  };
  return {.out = window == 0 ? 0 : within(context - window + 1),
          .used = within(context),
          .kept = within(std::max(context, request.final_context().value())),
          .owner = request.id};
}

}  // namespace

std::vector<MapCell> pool_picture(const MemoryMap& map, const WatchedAllocator& allocator,
                                  const sim::Scheduler& scheduler, const sim::GaugeValues& gauges) {
  Picture picture(map);
  std::vector<Held> blocks(static_cast<std::size_t>(map.blocks));
  std::vector<std::int64_t> held_blocks;
  const auto hold = [&](const sim::SequenceGroup& group, std::size_t member) {
    const sim::SequenceId sequence = group.members[member];
    const std::int64_t context = scheduler.context(group, member);
    const std::int64_t slots = allocator.place_slots(sequence);
    std::int64_t from = 0;
    for (const std::int64_t place : allocator.places(sequence)) {
      const Held mine = held_of(group.request, context, map.window, from, slots);
      from += slots;
      if (map.blocks == 0) {
        picture.add(place, slots, mine);
        continue;
      }
      Held& held = blocks[static_cast<std::size_t>(place)];
      if (held.owner < 0) {
        held = mine;
        held_blocks.push_back(place);
      }
      held.out = std::min(held.out, mine.out);
      held.used = std::max(held.used, mine.used);
      held.kept = std::max(held.kept, mine.kept);
    }
  };
  for (const sim::SequenceGroup* group : scheduler.holders()) {
    for (std::size_t member = 0; member < group->members.size(); ++member) hold(*group, member);
  }
  for (const std::int64_t block : held_blocks) {
    picture.add(block * map.block_size, map.block_size, blocks[static_cast<std::size_t>(block)]);
  }
  for (std::int64_t block = 0; allocator.reuses_prefixes() && block < map.blocks; ++block) {
    if (!allocator.is_evictable(BlockId(static_cast<std::int32_t>(block)))) continue;
    picture.add(block * map.block_size, (block + 1) * map.block_size, kCached, -1);
  }
  using sim::Gauge;
  RECTO_CHECK_EQ(picture.sum(kUsed), gauges[Gauge::kUsed]);
  RECTO_CHECK_EQ(picture.sum(kReserved), gauges[Gauge::kReserved]);
  RECTO_CHECK_EQ(picture.sum(kCached), gauges[Gauge::kCached]);
  RECTO_CHECK_EQ(picture.sum(kInternal), gauges[Gauge::kOverReservation] +
                                             gauges[Gauge::kRounding] + gauges[Gauge::kTail] +
                                             gauges[Gauge::kOutOfWindow]);
  return picture.cells();
}

}  // namespace recto::experiments
