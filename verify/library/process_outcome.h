#pragma once

// What a library's call came to: its answer, or what ended its process, in words.

#include "verify/call_outcome.h"
#include "verify/library/kernel_process.h"
#include "verify/library/kernel_request.h"

namespace recto::verify {

// The outcome of the process's last call; Done has no result yet.
CallOutcome outcome_of(const KernelRequest& request, const KernelAnswer& answer,
                       KernelProcess& process);

// Of loading, too: what ended the process instead of an answer.
Failed failure_of_end(const KernelAnswer& answer, KernelProcess& process);

}  // namespace recto::verify
