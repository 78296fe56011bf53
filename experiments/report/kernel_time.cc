#include "experiments/report/kernel_time.h"

#include <optional>

#include "core/contract.h"
#include "experiments/report/report_metrics.h"
#include "experiments/support/resolved_run.h"

namespace recto::experiments {
namespace {

const char* word_of(sim::CurvePart part) {
  switch (part) {
    case sim::CurvePart::kBelowFirst:
      return "as the smallest";
    case sim::CurvePart::kAtPoint:
      return "measured";
    case sim::CurvePart::kBetween:
      return "interpolated";
    case sim::CurvePart::kBeyondLast:
      return "extrapolated";
  }
  RECTO_UNREACHABLE("part of a curve");
}

}  // namespace

Status add_kernel_time(const RunConfig& config, Json& metrics) {
  metrics["kernel_s"] = nullptr;
  metrics["kernel_basis"] = nullptr;
  if (!config.time_model.starts_with("measured:")) return Status::ok();
  const Result<ResolvedRun> run = resolve(config);
  RECTO_RETURN_IF_ERROR(run.status());
  const Result<std::optional<sim::MeasuredDecode>> decode = full_pool_decode(run.value());
  RECTO_RETURN_IF_ERROR(decode.status());
  if (!decode.value()) return Status::ok();
  metrics["kernel_s"] = rounded(decode.value()->ns * 1e-9);
  metrics["kernel_basis"] = word_of(decode.value()->part);
  return Status::ok();
}

}  // namespace recto::experiments
