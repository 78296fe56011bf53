#pragma once

// A decode step of the host API as a graph: captured once, replayed at will. On the executor, whose
// host is late to hear of anything; on a GPU in its tests.

#include <cstddef>
#include <memory>

#include "core/status.h"
#include "cuda/attention_plan.h"
#include "cuda/decode_step.h"
#include "cuda/workspace.h"

namespace recto::verify {

class CapturedStep {
 public:
  CapturedStep();
  ~CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  // Once. What views point to must be there as long as it is replayed. Nothing runs.
  Status capture(const AttentionPlan& plan, const DecodeStep& step, const AttentionOutputs& outputs,
                 const Workspace& workspace);
  // Kernels that it runs.
  std::size_t size() const;
  // Waits for it. Failed: what was found in any replay so far.
  Status replay();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recto::verify
