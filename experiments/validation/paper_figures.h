#pragma once

// The PagedAttention paper's figures (Kwon et al., SOSP 2023, arXiv 2309.06180), beside recto's
// figures for its workloads: OPT-13B on one A100-40GB, 12 GiB of KV cache, 15,728 slots. Bisection
// finds parameters of the paper's runs that are not published.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/validation/published_figure.h"
#include "sim/metrics/report.h"
#include "sim/time/linear_time_model.h"

namespace recto::experiments {

// Per step: 20 ms + 0.9 us per KV token + 170 us per prefill token + 0.28 ms per sequence. Weights
// at 85 % of the card's bandwidth, KV at 60 %, prefill at half its FLOPs. The last term is the
// host's work per sequence in an engine of 2023; only this term was fitted, to the paged batch of
// Fig. 13a.
sim::LinearCoefficients paper_step_time();

enum class PaperAllocator : std::uint8_t { kMax, kPow2, kOracle, kPaged };

struct PaperRun {
  std::string workload = "sharegpt-like";
  std::string decoding = "single";
  std::string arrivals{};  // empty: those of the workload
  PaperAllocator allocator = PaperAllocator::kPaged;
  double beam_switch_probability = 0;
  std::optional<sim::LinearCoefficients> step_time{};  // absent: paper_step_time
  std::int64_t requests = 0;                           // 0: as many as the workload has
  std::uint64_t seed = 1;
};

sim::Report run_paper(const PaperRun& run);

// Each figure is the mean over this many seeds: with one hour of traffic, seeds differ by 1-2
// points.
inline constexpr std::uint64_t kPaperSeeds = 5;
double mean_over_seeds(PaperRun run, const std::function<double(const sim::Report&)>& figure);

double running_sequences(const sim::Report& report);
// The blocks that sharing saved, in percent of the blocks held without sharing; both as integrals
// over time.
double sharing_saving(const sim::Report& report);

// Beam search at a load so low that nothing is preempted; sharing does not depend on the load.
PaperRun beam_run(const std::string& workload, int width, double beam_switch_probability);

// The probability per step that a beam dies and is replaced by a fork of another: fitted at width 2
// by beam_switch_probability(), one value per data set, because the paper's beams live longer on
// ShareGPT.
inline constexpr double kAlpacaBeamSwitches = 0.0742;
inline constexpr double kShareGptBeamSwitches = 0.0124;

std::vector<PublishedFigure> compare_memory_states();  // Fig. 2
std::vector<PublishedFigure> compare_batch_sizes();    // Fig. 13, the contiguous rows
std::vector<PublishedFigure>
compare_paged_batch();  // Fig. 13, the paged row: depends on the engine
std::vector<PublishedFigure> compare_parallel_sharing();  // Fig. 15a
std::vector<PublishedFigure> compare_beam_sharing();      // Fig. 15b

// The constant step time, in milliseconds, at which paged attention's mean batch is `batch`.
double constant_step_ms(const std::string& workload, double batch);

// The probability per step that a beam is replaced by a fork of another, at which beam search of
// width 2 saves `saving_percent` of the blocks.
double beam_switch_probability(const std::string& workload, double saving_percent);

// The mean milliseconds per step of `paper_step_time` in a run of `workload`: in all, and the
// card's part.
struct StepTimeParts {
  double total_ms = 0;
  double card_ms = 0;
};
StepTimeParts mean_step_time(const std::string& workload);

}  // namespace recto::experiments
