#pragma once

#include "experiments/plan/kv_plan.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Bytes, and shares between 0 and 1. `options` are those that the plan was made from.
Json plan_json(const KvPlan& plan, const KvPlanOptions& options);

}  // namespace recto::experiments
