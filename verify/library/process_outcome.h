#pragma once

// The outcome of a library's call, in words: its answer, or what ended its process.

#include "verify/backend.h"
#include "verify/library/kernel_peer.h"
#include "verify/library/kernel_request.h"

namespace recto::verify {

// The outcome of the peer's last call; Done has no result yet.
CallOutcome outcome_of(const KernelRequest& request, const KernelAnswer& answer, KernelPeer& peer);

// What ended the process instead of an answer; also for loading.
Failed failure_of_end(const KernelAnswer& answer, KernelPeer& peer);

}  // namespace recto::verify
