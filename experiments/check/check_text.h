#pragma once

// The results of a check, as text and as JSON.

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "experiments/check/check_run.h"

namespace recto::experiments {

// The table, and the wrong cases: the first `shown` of each operation in full, the others by name.
std::string check_text(const CheckOptions& options, const std::vector<JudgedCase>& cases,
                       std::int64_t shown);

// {"cases", "bound", "right", "wrong", "missing", "skipped", "answers": [{"name", "op", "q_type",
// "kv_type", "state", "worst_error_to_bound", "what", "reason", "file"}]}
Json check_json(const CheckOptions& options, const std::vector<JudgedCase>& cases);

}  // namespace recto::experiments
