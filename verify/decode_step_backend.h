#pragma once

// A decode step, whose newest token is not in the cache yet, as a backend: laws and the oracle ask
// it what they ask of all others.

#include <functional>
#include <string>

#include "core/attention_views.h"
#include "verify/backend.h"

namespace recto::verify {

using DecodeStepRun = std::function<reference::AttentionResult(const DecodeStepInputs&)>;

// Calls of one query row a sequence, each with a context, in caches without scales: these could not
// hold the newest token as it is handed over. `run` gets every sequence's last K and V as new rows,
// and NaN in the slots that they had, unless another sequence addresses them. Stands for a backend
// that keeps no other promises than `numerics`.
Backend decode_step_backend(
    const std::string& name, const DecodeStepRun& run,
    const std::function<reference::KernelNumerics(const PagedAttentionInputs&)>& numerics);

}  // namespace recto::verify
