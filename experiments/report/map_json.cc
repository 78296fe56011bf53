#include "experiments/report/map_json.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "experiments/report/map_recorder.h"

namespace recto::experiments {
namespace {

std::int64_t us(SimTime time) { return (time - SimTime()).value() / 1000; }

constexpr const char* kMarkNames[kMapMarkCount] = {"preempted", "copied", "evicted"};

template <typename Item>
struct Column {
  const char* name;
  std::int64_t (*number)(const Item&);
};

template <typename Item>
Json columns_json(const std::vector<Item>& items, std::initializer_list<Column<Item>> columns) {
  Json json = Json::object();
  for (const Column<Item>& column : columns) {
    std::vector<std::int64_t> numbers;
    for (const Item& item : items) numbers.push_back(column.number(item));
    json[column.name] = packed(numbers);
  }
  return json;
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

Json overview_json(const std::vector<MapColumn>& columns) {
  Json json = {{"at_us", Json::array()}, {"cells", cells_text(columns)}};
  for (const MapColumn& column : columns) {
    json["at_us"].push_back(us(column.at));
    for (std::size_t mark = 0; mark < kMapMarkCount; ++mark) {
      json[kMarkNames[mark]].push_back(column.marks[mark]);
    }
  }
  return json;
}

// A byte a row, picture by picture.
Json close_look_json(const MapCloseLook& look) {
  std::vector<std::uint8_t> bytes;
  for (const RowState state : look.states) bytes.push_back(static_cast<std::uint8_t>(state));
  return {{"begin_us", us(look.begin)},
          {"step_us", kCloseLookStep.value() / 1000},
          {"states", base64(bytes)}};
}

Json stays_json(const std::vector<MapStay>& stays) {
  return columns_json<MapStay>(
      stays, {{"request", [](const auto& s) { return s.request_id; }},
              {"member", [](const auto& s) { return std::int64_t{s.member}; }},
              {"final", [](const auto& s) { return s.final_context; }},
              {"begin_us", [](const auto& s) { return us(s.begin); }},
              {"decode_us", [](const auto& s) { return us(s.decode); }},
              {"end_us", [](const auto& s) { return us(s.end); }},
              {"context_begin", [](const auto& s) { return s.context_begin; }},
              {"context_decode", [](const auto& s) { return s.context_decode; }},
              {"context_end", [](const auto& s) { return s.context_end; }},
              {"how", [](const auto& s) { return static_cast<std::int64_t>(s.how); }}});
}

Json segments_json(std::vector<MapSegment> segments) {
  // By time, then place: neighbours are similar, so they pack well.
  std::ranges::stable_sort(segments, [](const MapSegment& a, const MapSegment& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.place < b.place;
  });
  return columns_json<MapSegment>(
      segments, {{"place", [](const auto& s) { return s.place; }},
                 {"size", [](const auto& s) { return s.size; }},
                 {"begin_us", [](const auto& s) { return us(s.begin); }},
                 {"length_us", [](const auto& s) { return us(s.end) - us(s.begin); }},
                 {"stay", [](const auto& s) { return std::int64_t{s.stay}; }},
                 {"index", [](const auto& s) { return s.index; }},
                 {"references", [](const auto& s) { return std::int64_t{s.references}; }}});
}

Json events_json(const std::vector<MapEvent>& events) {
  return columns_json<MapEvent>(
      events, {{"at_us", [](const auto& e) { return us(e.at); }},
               {"place", [](const auto& e) { return e.place; }},
               {"mark", [](const auto& e) { return static_cast<std::int64_t>(e.mark); }}});
}

}  // namespace

std::string base64(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? bytes[i + j] : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const bool is_padding = i + j > bytes.size();
      text += is_padding ? '=' : kDigits[group >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

std::string packed(std::span<const std::int64_t> numbers) {
  std::vector<std::uint8_t> bytes;
  std::uint64_t before = 0;
  for (const std::int64_t number : numbers) {
    const auto now = static_cast<std::uint64_t>(number);
    const auto difference = static_cast<std::int64_t>(now - before);
    before = now;
    std::uint64_t rest =
        static_cast<std::uint64_t>(difference) << 1 ^ static_cast<std::uint64_t>(difference >> 63);
    for (; rest >= 0x80; rest >>= 7) bytes.push_back(static_cast<std::uint8_t>(rest | 0x80));
    bytes.push_back(static_cast<std::uint8_t>(rest));
  }
  return base64(bytes);
}

Json to_json(const MemoryMap& map) {
  return {{"pool_slots", map.pool_slots},
          {"block_size", map.block_size},
          {"blocks", map.blocks},
          {"null_blocks", map.null_blocks},
          {"window", map.window},
          {"rows", map.rows},
          {"end_us", us(map.end)},
          {"overview", overview_json(map.columns)},
          {"close_look", close_look_json(map.close_look)},
          {"detail",
           {{"begin_us", us(map.detail.begin)},
            {"end_us", us(map.detail.end)},
            {"stays", stays_json(map.detail.stays)},
            {"segments", segments_json(map.detail.segments)},
            {"events", events_json(map.detail.events)}}}};
}

}  // namespace recto::experiments
