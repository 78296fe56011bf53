#include "experiments/report/map_json.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "experiments/report/packed_numbers.h"

namespace recto::experiments {
namespace {

std::int64_t microseconds(SimTime time) { return (time - SimTime()).value() / 1000; }

template <typename Item, typename Field>
std::string column(const std::vector<Item>& items, Field field) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(items.size());
  for (const Item& item : items) {
    numbers.push_back(static_cast<std::int64_t>(std::invoke(field, item)));
  }
  return packed(numbers);
}

// Three bytes a cell, column by column: used and reserved, internal and cached, owner.
std::string cells_text(const std::vector<MapColumn>& columns) {
  std::vector<std::uint8_t> bytes;
  for (const MapColumn& column : columns) {
    for (const MapCell& cell : column.cells) {
      bytes.push_back(static_cast<std::uint8_t>(cell.used | cell.reserved << 4));
      bytes.push_back(static_cast<std::uint8_t>(cell.internal | cell.cached << 4));
      bytes.push_back(cell.owner);
    }
  }
  return base64(bytes);
}

Json overview_json(const MemoryMap& map) {
  const auto marks = [&](MapMark mark) {
    return column(map.columns, [mark](const MapColumn& column) {
      return column.marks[static_cast<std::size_t>(mark)];
    });
  };
  return {{"count", map.columns.size()},
          {"at_us", column(map.columns, [](const MapColumn& c) { return microseconds(c.at); })},
          {"cells", cells_text(map.columns)},
          {"preempted", marks(MapMark::kPreempted)},
          {"copied", marks(MapMark::kCopied)},
          {"evicted", marks(MapMark::kEvicted)}};
}

Json stays_json(const std::vector<MapStay>& stays) {
  return {{"request", column(stays, &MapStay::request_id)},
          {"member", column(stays, &MapStay::member)},
          {"final", column(stays, &MapStay::final_context)},
          {"begin_us", column(stays, [](const MapStay& s) { return microseconds(s.begin); })},
          {"decode_us", column(stays, [](const MapStay& s) { return microseconds(s.decode); })},
          {"end_us", column(stays, [](const MapStay& s) { return microseconds(s.end); })},
          {"context_begin", column(stays, &MapStay::context_begin)},
          {"context_decode", column(stays, &MapStay::context_decode)},
          {"context_end", column(stays, &MapStay::context_end)},
          {"how", column(stays, [](const MapStay& s) { return static_cast<int>(s.how); })}};
}

Json segments_json(std::vector<MapSegment> segments) {
  // By time, then place: neighbours are alike, so they pack well.
  std::ranges::stable_sort(segments, [](const MapSegment& a, const MapSegment& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.place < b.place;
  });
  const auto length = [](const MapSegment& segment) {
    return microseconds(segment.end) - microseconds(segment.begin);
  };
  return {{"place", column(segments, &MapSegment::place)},
          {"size", column(segments, &MapSegment::size)},
          {"begin_us", column(segments, [](const MapSegment& s) { return microseconds(s.begin); })},
          {"length_us", column(segments, length)},
          {"stay", column(segments, &MapSegment::stay)},
          {"index", column(segments, &MapSegment::index)},
          {"references", column(segments, &MapSegment::references)}};
}

Json events_json(const std::vector<MapEvent>& events) {
  return {{"at_us", column(events, [](const MapEvent& e) { return microseconds(e.at); })},
          {"place", column(events, &MapEvent::place)},
          {"mark", column(events, [](const MapEvent& e) { return static_cast<int>(e.mark); })}};
}

}  // namespace

Json to_json(const MemoryMap& map) {
  return {{"pool_slots", map.pool_slots},
          {"block_size", map.block_size},
          {"blocks", map.blocks},
          {"null_blocks", map.null_blocks},
          {"window", map.window},
          {"rows", map.rows},
          {"end_us", microseconds(map.end)},
          {"overview", overview_json(map)},
          {"detail",
           {{"begin_us", microseconds(map.detail.begin)},
            {"end_us", microseconds(map.detail.end)},
            {"stays", stays_json(map.detail.stays)},
            {"segments", segments_json(map.detail.segments)},
            {"events", events_json(map.detail.events)}}}};
}

}  // namespace recto::experiments
