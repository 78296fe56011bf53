#pragma once

#include <cstdint>
#include <string>

#include "experiments/plan/kv_plan.h"

namespace recto::experiments {

// For the terminal, at most 100 columns wide. `options` are those that the plan was made from.
std::string plan_text(const KvPlan& plan, const KvPlanOptions& options);

// Up to which mean length blocks hold `times` as many requests as contiguous reservations; empty if
// the latter hold none.
std::string edge_text(const KvPlan& plan, const KvPlanOptions& options, std::int64_t times);
// From which mean length on blocks waste less than `percent`.
std::string waste_edge_text(const KvPlan& plan, const KvPlanOptions& options, double percent);

// Tables of what --model and --gpu may name.
std::string models_text();
std::string gpus_text();

}  // namespace recto::experiments
