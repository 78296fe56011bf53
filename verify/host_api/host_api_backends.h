#pragma once

// The host API of cuda/ as implementations under test, its kernels run by the executor on the
// caller's memory. Contents are checked on the device before each call.

#include "cuda/attention_plan.h"
#include "verify/backend.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// Of any number of rows. What `options` say of contexts and queries is what the inputs have, or
// more.
Backend host_api_backend(const KernelRun& how, const PlanOptions& options);

// The newest token of each sequence is handed over outside the cache.
Backend host_api_step_backend(const KernelRun& how, const PlanOptions& options);

}  // namespace recto::verify
