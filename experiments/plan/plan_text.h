#pragma once

#include <cstdint>
#include <string>

#include "experiments/plan/kv_plan.h"

namespace recto::experiments {

// For the terminal, at most 100 columns wide. `options` are the options of the plan.
std::string plan_text(const KvPlan& plan, const KvPlanOptions& options);

// The mean length up to which blocks hold `times` as many requests as contiguous reservations;
// empty if contiguous reservations hold none.
std::string edge_text(const KvPlan& plan, const KvPlanOptions& options, std::int64_t times);
// The mean length from which on blocks waste less than `percent`.
std::string waste_edge_text(const KvPlan& plan, const KvPlanOptions& options, double percent);

// Tables of the values of --model and --gpu.
std::string models_text();
std::string gpus_text();

}  // namespace recto::experiments
