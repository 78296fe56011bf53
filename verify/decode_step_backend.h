#pragma once

// Wraps a decode step whose newest token is not yet in the cache as a backend, so that laws and the
// oracle test it like any other.

#include <functional>
#include <string>

#include "core/attention_views.h"
#include "verify/backend.h"

namespace recto::verify {

using DecodeStepRun =
    std::function<reference::AttentionResult(const DecodeStepInputs&, const CallOptions&)>;

// Supports calls with one query row and a non-empty context per sequence, in caches without scales
// (a scaled cache could not hold the newest token exactly as passed). `run` gets the last K and V
// of every sequence as new rows; their slots hold NaN unless another sequence addresses them. The
// backend guarantees nothing besides `numerics`.
Backend decode_step_backend(const std::string& name, const DecodeStepRun& run,
                            const decltype(Backend::numerics_of)& numerics);

}  // namespace recto::verify
