#pragma once

// The holders of each part of a pool over time: coarse over a whole run, exact over a part of it.

#include <array>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace recto::experiments {

// Events of blocks that the page marks.
enum class MapMark : std::uint8_t { kPreempted, kCopied, kEvicted };
inline constexpr std::size_t kMapMarkCount = 3;

// A row of a column: shares of its slots, in fifteenths, and the owner of most of them.
struct MapCell {
  std::uint8_t used = 0;
  std::uint8_t reserved = 0;
  std::uint8_t internal = 0;
  std::uint8_t cached = 0;  // the rest of the fifteen is free, or overhead
  std::uint8_t owner = 0;   // 0: none; else 1 + request id modulo 255
};

// The pool at an instant, in rows of equally many slots, lowest first.
struct MapColumn {
  SimTime at;
  std::vector<MapCell> cells;                       // [rows]
  std::array<std::int64_t, kMapMarkCount> marks{};  // events since the previous column
};

// The stay of a sequence in the pool, from getting slots to releasing them.
struct MapStay {
  enum class End : std::uint8_t { kFinished, kRecompute, kSwap, kGoesOn };
  std::int64_t request_id = 0;
  std::int32_t member = 0;
  std::int64_t final_context = 0;
  SimTime begin;
  SimTime decode;  // one token per step from here on; `end` if the sequence never decoded
  SimTime end;
  std::int64_t context_begin = 0;
  std::int64_t context_decode = 0;
  std::int64_t context_end = 0;
  End how = End::kFinished;
};

// A stretch of time in which a block (or a region of slots) had one holder, or was cached.
struct MapSegment {
  std::int64_t place = 0;  // block number, or first slot of the region
  std::int64_t size = 1;   // blocks, or slots
  SimTime begin;
  SimTime end;
  std::int32_t stay = -1;       // in MapDetail::stays; -1: no holder, cached
  std::int64_t index = 0;       // logical block in the holder's table
  std::int32_t references = 1;  // largest number of tables that held it
};

struct MapEvent {
  SimTime at;
  std::int64_t place = 0;
  MapMark mark = MapMark::kCopied;
};

struct MapDetail {
  SimTime begin;
  SimTime end;
  std::vector<MapStay> stays;
  std::vector<MapSegment> segments;  // in the order in which they ended
  std::vector<MapEvent> events;
};

// The state of most slots of a row.
enum class RowState : std::uint8_t { kUsed, kReserved, kInternal, kCached, kFree };

// A minute of the run in pictures at equal distances, for figures.
struct MapCloseLook {
  SimTime begin;
  std::vector<RowState> states;  // [pictures][rows]; no picture after the run's end
};

struct MemoryMap {
  std::int64_t pool_slots = 0;
  std::int64_t block_size = 1;  // 1 for regions
  std::int64_t blocks = 0;      // 0 for regions
  std::int64_t null_blocks = 0;
  std::int64_t window = 0;  // 0: every token stays visible
  std::int64_t rows = 0;
  SimTime end;  // of the run
  std::vector<MapColumn> columns;
  MapCloseLook close_look;
  MapDetail detail;
};

}  // namespace recto::experiments
