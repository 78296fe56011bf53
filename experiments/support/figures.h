#pragma once

// What people read in a report: shares, rates and bytes.

#include <optional>

#include "experiments/support/resolved_run.h"
#include "sim/metrics/gauges.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

// The states of a pool as shares of it; they sum to 1.
struct PoolShares {
  double used = 0;
  double reserved = 0;
  double over_reservation = 0;
  double rounding = 0;
  double tail = 0;
  double out_of_window = 0;
  double cached = 0;
  double free = 0;
  double overhead = 0;

  double internal() const { return over_reservation + rounding + tail + out_of_window; }
  double held() const { return used + reserved + internal(); }
};

// The same slots, named as in Fig. 2 of the PagedAttention paper (arXiv 2309.06180). There,
// rounding by the placement policy counts as external.
struct PaperShares {
  double token_states = 0;
  double reservation = 0;
  double internal_fragmentation = 0;
  double external_and_others = 0;
};

struct Figures {
  PoolShares shares;  // time-weighted means
  PaperShares paper;

  double used_of_held = 0;    // share of the held slots
  double sharing_saving = 0;  // 1 - held blocks / block-table entries, of their time integrals
  double copied_bytes = 0;    // copy-on-write, on all cards
  double table_bytes_mean = 0;
  double table_bytes_max = 0;

  double requests_per_s = 0;       // finished ones, over the makespan
  double output_tokens_per_s = 0;  // likewise
  double goodput_per_s = 0;        // requests that met both limits

  double prefix_hit_share = 0;  // of the context wanted at admissions
  double first_hit_share = 0;   // of the prompts, when first admitted
  double prefix_flops_saved = 0;

  // Whether the 99th percentile meets the limit; absent without a limit.
  std::optional<bool> p99_meets_ttft;
  std::optional<bool> p99_meets_tpot;
};

Figures make_figures(const sim::Report& report, const ResolvedRun& run);

// A gauge's mean as a share of the pool.
double mean_share(const sim::Report& report, sim::Gauge gauge);

}  // namespace recto::experiments
