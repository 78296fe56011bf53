#include "experiments/report/pool_picture.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::experiments {
namespace {

constexpr std::int64_t kLevels = 15;

// Row r has the slots from row_begin(r) up to row_begin(r + 1).
std::int64_t row_begin(std::int64_t row, std::int64_t rows, std::int64_t slots) {
  return (row * slots + rows - 1) / rows;
}

}  // namespace

PoolPicture::PoolPicture(const WatchedAllocator& allocator, std::int64_t rows, std::int64_t window)
    : allocator_(allocator),
      pool_slots_(allocator.counts().pool.value()),
      window_(window),
      rows_(static_cast<std::size_t>(rows)) {
  if (!allocator.is_paged()) return;
  blocks_.resize(static_cast<std::size_t>(pool_slots_ / allocator.block_size().value()));
}

void PoolPicture::add(std::int64_t begin, std::int64_t end, State state, std::int64_t owner) {
  const auto rows = static_cast<std::int64_t>(rows_.size());
  while (begin < end) {
    const std::int64_t number = begin * rows / pool_slots_;
    const std::int64_t stop = std::min(end, row_begin(number + 1, rows, pool_slots_));
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

void PoolPicture::paint(std::int64_t begin, std::int64_t size, const Held& held) {
  add(begin, begin + held.out, kInternal, held.owner);
  add(begin + held.out, begin + held.used, kUsed, held.owner);
  add(begin + held.used, begin + held.kept, kReserved, held.owner);
  add(begin + held.kept, begin + size, kInternal, held.owner);
}

// A next token, at position `context`, sees the positions above context - window.
void PoolPicture::hold(const sim::Group& group, std::int64_t context, std::size_t member) {
  const std::int64_t final_context = group.request.final_context().value();
  const std::int64_t out = window_ == 0 ? 0 : std::max<std::int64_t>(context - window_ + 1, 0);
  const auto within = [&](std::int64_t from, std::int64_t size) {
    const auto part = [&](std::int64_t position) {
      return std::clamp<std::int64_t>(position - from, 0, size);
    };
    return Held{.out = part(out),
                .used = part(context),
                .kept = part(std::max(context, final_context)),
                .owner = group.request.id};
  };
  const sim::SequenceId sequence = group.members[member];
  if (!allocator_.is_paged()) {
    const sim::Region region = allocator_.region(sequence);
    paint(region.begin, region.size, within(0, region.size));
    return;
  }
  const std::int64_t block_size = allocator_.block_size().value();
  std::int64_t from = 0;
  for (const BlockId block : allocator_.block_table(sequence)) {
    const Held mine = within(from, block_size);
    from += block_size;
    Held& held = blocks_[static_cast<std::size_t>(block.value())];
    if (held.owner < 0) {
      held = mine;
      touched_.push_back(block.value());
      continue;
    }
    held.out = std::min(held.out, mine.out);
    held.used = std::max(held.used, mine.used);
    held.kept = std::max(held.kept, mine.kept);
  }
}

void PoolPicture::paint_blocks() {
  const std::int64_t block_size = allocator_.block_size().value();
  for (const std::int64_t block : touched_) {
    Held& held = blocks_[static_cast<std::size_t>(block)];
    paint(block * block_size, block_size, held);
    held = {};
  }
  touched_.clear();
  if (!allocator_.reuses_prefixes()) return;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (!allocator_.is_evictable(BlockId(static_cast<std::int32_t>(block)))) continue;
    const auto begin = static_cast<std::int64_t>(block) * block_size;
    add(begin, begin + block_size, kCached, -1);
  }
}

MapCell PoolPicture::cell(const Row& row, std::int64_t slots) const {
  const auto level = [&](State state) {
    const std::int64_t of = row.slots[state] * kLevels;
    return static_cast<std::uint8_t>((of + slots / 2) / slots);
  };
  return {.used = level(kUsed),
          .reserved = level(kReserved),
          .internal = level(kInternal),
          .cached = level(kCached),
          .owner = static_cast<std::uint8_t>(row.owner < 0 ? 0 : 1 + row.owner % 255)};
}

std::vector<MapCell> PoolPicture::take(const sim::Scheduler& scheduler,
                                       const sim::GaugeValues& gauges) {
  std::ranges::fill(rows_, Row());
  for (const sim::Group* group : scheduler.holders()) {
    for (std::size_t member = 0; member < group->members.size(); ++member) {
      hold(*group, scheduler.context(*group, member), member);
    }
  }
  if (allocator_.is_paged()) paint_blocks();
  std::array<std::int64_t, kStates> sums{};
  std::vector<MapCell> cells;
  const auto rows = static_cast<std::int64_t>(rows_.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    const Row& row = rows_[static_cast<std::size_t>(i)];
    for (std::size_t state = 0; state < kStates; ++state) sums[state] += row.slots[state];
    cells.push_back(
        cell(row, row_begin(i + 1, rows, pool_slots_) - row_begin(i, rows, pool_slots_)));
  }
  using sim::Gauge;
  RECTO_CHECK_EQ(sums[kUsed], gauges[Gauge::kUsed]);
  RECTO_CHECK_EQ(sums[kReserved], gauges[Gauge::kReserved]);
  RECTO_CHECK_EQ(sums[kCached], gauges[Gauge::kCached]);
  RECTO_CHECK_EQ(sums[kInternal], gauges[Gauge::kOverReservation] + gauges[Gauge::kRounding] +
                                      gauges[Gauge::kTail] + gauges[Gauge::kOutOfWindow]);
  return cells;
}

}  // namespace recto::experiments
