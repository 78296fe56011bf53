#pragma once

// Follows a run and draws its memory map: pictures of the whole pool at regular times of the run
// and of one minute, and the history of single blocks over a part of the run.

#include <cstdint>

#include "core/status.h"
#include "core/units.h"
#include "experiments/report/memory_map.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

inline constexpr SimDuration kCloseLookStep(150'000'000);

// The part of a run with single blocks.
enum class SingleBlocks : std::uint8_t { kFromBegin, kWholeRunIfFew };

// Repeats the run of `report`, an earlier one of this configuration. The minute begins at `begin`.
// Single blocks are shown from there on, or over the whole run if these are few enough for a page.
// Under --manager production they are those of the production manager. Deterministic, byte for
// byte; may be called from several threads.
Result<MemoryMap> record_map(const RunConfig& config, const sim::Report& report, SimTime begin,
                             SingleBlocks single_blocks);

}  // namespace recto::experiments
