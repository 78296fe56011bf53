#pragma once

// Who had which part of a pool when: coarsely over a whole run, exactly over a part of it.

#include <array>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace recto::experiments {

// Events of blocks that a reader looks for.
enum class MapMark : std::uint8_t { kPreempted, kCopied, kEvicted };
inline constexpr std::size_t kMapMarkCount = 3;

// A row of a column: shares of its slots, in fifteenths, and who owns most of them.
struct MapCell {
  std::uint8_t used = 0;
  std::uint8_t reserved = 0;
  std::uint8_t internal = 0;
  std::uint8_t cached = 0;  // what is left of fifteen is free, or overhead
  std::uint8_t owner = 0;   // 0: nobody; else 1 + request id modulo 255
};

// The pool at an instant, in rows of equally many slots, lowest first.
struct MapColumn {
  SimTime at;
  std::vector<MapCell> cells;                       // [rows]
  std::array<std::int64_t, kMapMarkCount> marks{};  // that happened since the column before
};

// The stay of a sequence in the pool, from getting slots to giving them back.
struct MapStay {
  enum class End : std::uint8_t { kFinished, kRecompute, kSwap, kGoesOn };
  std::int64_t request_id = 0;
  std::int32_t member = 0;
  std::int64_t final_context = 0;
  SimTime begin;
  SimTime decode;  // from here on one token per step; `end` if it never got that far
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
  std::int32_t stay = -1;       // in MapDetail::stays; -1: nobody's, cached
  std::int64_t index = 0;       // logical block in the holder's table
  std::int32_t references = 1;  // tables that held it, at most
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

struct MemoryMap {
  std::int64_t pool_slots = 0;
  std::int64_t block_size = 1;  // 1 for regions
  std::int64_t blocks = 0;      // 0 for regions
  std::int64_t null_blocks = 0;
  std::int64_t window = 0;  // 0: every token stays visible
  std::int64_t rows = 0;
  SimTime end;  // of the run
  std::vector<MapColumn> columns;
  MapDetail detail;
};

}  // namespace recto::experiments
