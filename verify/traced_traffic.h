#pragma once

// Requests of a public trace, or of a workload where that is not here, and the small engine that
// serves them: for tests that want its block tables.

#include <cstdint>
#include <ostream>

#include "sim/scheduling/scheduler.h"
#include "verify/trace_block_tables.h"

namespace recto::verify {

inline constexpr std::uint64_t kTrafficSeed = 2026;

enum class PrefixCache : std::uint8_t { kNo, kYes };

// A built-in workload with these parts changed, as text.
struct WorkloadSpec {
  const char* name;
  const char* arrivals;
  const char* sharing;
  const char* decoding;
  const char* prompts = nullptr;  // null: its own
};

struct Traffic {
  const char* trace;  // see sim/traces/real_traces.h; null: the workload
  std::int64_t trace_requests;
  WorkloadSpec workload;
  PrefixCache prefix_cache;
  std::int64_t num_blocks;
  std::int64_t block_size;
  sim::PreemptionRule preemption;
  // Tokens. Longer requests are left out: the executor takes a second for a million, of one head.
  std::int64_t longest = 1280;
};

// Says on `out` what was served. A workload that does not parse breaks a contract.
TracedTables serve(const Traffic& traffic, std::ostream& out);

}  // namespace recto::verify
