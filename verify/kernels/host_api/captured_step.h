#pragma once

// A decode step of the host API as a graph: captured once, replayed any number of times. Runs on
// the executor, with all host-visible changes delayed; in GPU tests, on a GPU.

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

  // Call it only once. The memory that views point to must stay valid as long as the graph is
  // replayed. Runs nothing.
  Status capture(const AttentionPlan& plan, const DecodeStep& step, const AttentionOutputs& outputs,
                 const Workspace& workspace);
  // Number of kernels in the graph.
  std::size_t size() const;
  // Replays the graph and waits for it. Failed: the findings of all replays so far.
  Status replay();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace recto::verify
