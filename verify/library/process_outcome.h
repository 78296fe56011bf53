#pragma once

// The outcome of a library's call, in words: its answer, or what ended its process.

#include "verify/backend.h"
#include "verify/library/kernel_process.h"
#include "verify/library/kernel_request.h"

namespace recto::verify {

// The outcome of the process's last call; Done has no result yet.
CallOutcome outcome_of(const KernelRequest& request, const KernelAnswer& answer,
                       KernelProcess& process);

// What ended the process instead of an answer; also for loading.
Failed failure_of_end(const KernelAnswer& answer, KernelProcess& process);

}  // namespace recto::verify
