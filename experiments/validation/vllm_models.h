#pragma once

// The time models that the vLLM run is replayed with.

#include "sim/time/linear_time_model.h"
#include "sim/time/roofline_time_model.h"

namespace recto::experiments {

// Four coefficients fitted to that run, as //experiments/validation:fit_vllm prints them.
sim::LinearTimeModel fitted_model();

// Llama-3.1-8B on an RTX 4090 by specification, with the constants that serve every card.
sim::RooflineTimeModel roofline_model();

}  // namespace recto::experiments
