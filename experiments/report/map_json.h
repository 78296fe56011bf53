#pragma once

// A compact encoding of memory maps for the page and report.json: long columns of numbers in few
// bytes, which web/packed.js reads.

#include <cstdint>
#include <span>
#include <string>

#include "experiments/report/memory_map.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// RFC 4648, padded.
std::string base64(std::span<const std::uint8_t> bytes);

// Differences of neighbours, zigzag, seven bits to a byte, the lowest first, in base64.
std::string packed(std::span<const std::int64_t> numbers);

// "overview" and "close_look" have pictures, with plain numbers beside them; "detail" a packed
// column for each field of stays, segments (by time, then place) and events. Times are in
// microseconds.
Json to_json(const MemoryMap& map);

}  // namespace recto::experiments
