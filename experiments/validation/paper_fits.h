#pragma once

// The parameters of the paper's runs that are fitted and not published, found again by bisection:
// the step time that leads to a mean batch, and how often beams diverge.

#include <string>

#include "experiments/validation/paper_figures.h"

namespace recto::experiments {

// The constant step time, in milliseconds, at which paged attention's mean batch is `batch`.
double constant_step_ms(const std::string& workload, double batch);

// The probability per step that a beam is replaced by a fork of another, at which beam search of
// width 2 saves `saving_percent` of the blocks.
double beam_switch_probability(const std::string& workload, double saving_percent);

// The mean milliseconds per step that `paper_step_time` charges in a run of `workload`: in all, and
// the part that the card explains.
struct StepTimeParts {
  double total_ms = 0;
  double card_ms = 0;
};
StepTimeParts mean_step_time(const std::string& workload);

}  // namespace recto::experiments
