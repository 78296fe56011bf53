#include "verify/kernels/host_api/captured_step.h"

#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {

struct CapturedStep::State {
  simt::Executor executor = simt::Executor({});
  simt::HostRuntime runtime = simt::HostRuntime(executor, {simt::HostOrder::kLate});
  simt::Stream stream = simt::Stream(runtime);
  simt::Graph graph;
};

CapturedStep::CapturedStep() : state_(std::make_unique<State>()) {}
CapturedStep::~CapturedStep() = default;

Status CapturedStep::capture(const AttentionPlan& plan, const DecodeStep& step,
                             const AttentionOutputs& outputs, const Workspace& workspace) {
  RECTO_RETURN_IF_ERROR(state_->stream.begin_capture());
  const Status launched = run_decode_step(plan, step, outputs, workspace, &state_->stream);
  const Status ended = state_->stream.end_capture(state_->graph);
  return launched.is_ok() ? ended : launched;
}

std::size_t CapturedStep::size() const { return state_->graph.size(); }

Status CapturedStep::replay() {
  RECTO_RETURN_IF_ERROR(state_->stream.replay(state_->graph));
  const simt::LaunchReport& report = state_->stream.synchronise();
  return report.passed() ? Status::ok() : Status::failed(report.text());
}

}  // namespace recto::verify
