// A step as a CUDA graph.

#include "verify/kernels/host_api/captured_step.h"

#include "verify/kernels/gpu/launches.h"

namespace recto::verify {

struct CapturedStep::State {
  gpu::StepGraph graph;
};

CapturedStep::CapturedStep() : state_(std::make_unique<State>()) {}
CapturedStep::~CapturedStep() { gpu::destroy(state_->graph); }

Status CapturedStep::capture(const AttentionPlan& plan, const DecodeStep& step,
                             const AttentionOutputs& outputs, const Workspace& workspace) {
  return gpu::capture(plan, step, outputs, workspace, state_->graph);
}

std::size_t CapturedStep::size() const { return state_->graph.size; }

Status CapturedStep::replay() { return gpu::replay(state_->graph); }

}  // namespace recto::verify
