#pragma once

// Requests of a public trace, or of a workload if the trace is not available, and a small engine
// that serves them. For tests that need its block tables.

#include <cstdint>
#include <ostream>

#include "sim/scheduling/scheduler.h"
#include "verify/block_manager/trace_block_tables.h"

namespace recto::verify {

inline constexpr std::uint64_t kTrafficSeed = 2026;

enum class PrefixCache : std::uint8_t { kNo, kYes };

// A built-in workload with these parts overridden, as text.
struct WorkloadSpec {
  const char* name;
  const char* arrivals;
  const char* sharing;
  const char* decoding;
  const char* prompts = nullptr;  // null: the workload's own
};

struct Traffic {
  const char* trace;  // see sim/traces/real_traces.h; null: use the workload
  std::int64_t trace_requests;
  WorkloadSpec workload;
  PrefixCache prefix_cache;
  std::int64_t num_blocks;
  std::int64_t block_size;
  sim::PreemptionRule preemption;
  // In tokens. Longer requests are dropped: the executor takes one second per million tokens of one
  // head.
  std::int64_t longest = 1280;
};

// Pools that fill up; prefixes shared by requests; beams; samples of one prompt; chats.
inline constexpr Traffic kFullPools[] = {
    {"azure-llm-2023-conv.csv",
     120,
     {"sharegpt-like", "poisson:8", "none", "single", "gamma:mean=700,shape=2,max=1200"},
     PrefixCache::kNo,
     300,
     16,
     sim::PreemptionRule::kRecompute,
     2048},
    {"azure-llm-2023-conv.csv",
     120,
     {"sharegpt-like", "poisson:8", "none", "single", "gamma:mean=700,shape=2,max=1200"},
     PrefixCache::kNo,
     45,
     128,
     sim::PreemptionRule::kSwap,
     2048}};
inline constexpr Traffic kSharedPrefixes = {
    "mooncake-fast25-conversation.jsonl",
    1200,
    {"sharegpt-like", "poisson:8", "templates:count=2,tokens=512", "single",
     "gamma:mean=300,shape=2,max=600"},
    PrefixCache::kYes,
    300,
    16,
    sim::PreemptionRule::kRecompute};
inline constexpr Traffic kBeams = {nullptr,
                                   0,
                                   {"alpaca-like", "poisson:8", "none", "beam:4"},
                                   PrefixCache::kNo,
                                   60,
                                   8,
                                   sim::PreemptionRule::kRecompute};
inline constexpr Traffic kSamples = {
    nullptr,
    0,
    {"alpaca-like", "poisson:8", "templates:count=3,tokens=100", "parallel:3"},
    PrefixCache::kYes,
    700,
    1,
    sim::PreemptionRule::kSwap};
inline constexpr Traffic kChats = {nullptr,
                                   0,
                                   {"chat", "poisson:8", "sessions:turns=4,active=12", "single"},
                                   PrefixCache::kYes,
                                   150,
                                   32,
                                   sim::PreemptionRule::kRecompute};

// Which allocator produces the tables.
enum class TableProducer : std::uint8_t { kSimulator, kProduction };

struct ServeOptions {
  TableProducer producer = TableProducer::kSimulator;
  SnapshotOptions snapshots = {};
};

// Prints a summary of the served requests to `out`. Breaks a contract if a workload does not parse.
TracedTables serve(const Traffic& traffic, std::ostream& out, const ServeOptions& options = {});

}  // namespace recto::verify
