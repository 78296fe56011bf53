#pragma once

// The host API of cuda/ as backends, with its kernels run by the executor on the caller's memory.
// Contents are checked on the device before each call.

#include "cuda/attention_plan.h"
#include "verify/backend.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// Supports any number of rows. The limits on contexts and queries in `planned` are raised to those
// of the inputs.
Backend host_api_backend(const KernelRun& how, const PlanOptions& planned);

// Passes the newest token of each sequence outside the cache.
Backend host_api_step_backend(const KernelRun& how, const PlanOptions& planned);

}  // namespace recto::verify
