#include "verify/kernels/kernel_cover/planted_fault.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/kernel_cover/attention_cover.h"
#include "verify/kernels/kernel_cover/taint.h"

namespace recto::verify {
namespace {

std::span<const std::byte> pool_bytes(const KvTensorView& view) {
  return {static_cast<const std::byte*>(view.data),
          static_cast<std::size_t>(view.num_blocks * view.block_stride * element_bytes(view.type))};
}

// A domain of which the kernel supports most cases.
Covered cases_for(std::string_view kernel) {
  if (kernel == "gqa-decode") return Covered::kGroup;
  if (kernel == "paged-prefill") return Covered::kPrefill;
  if (kernel == "tma-decode" || kernel == "group-scores") return Covered::kBlocks;
  return Covered::kDecode;
}

void run_case(PlantedFault fault, std::string_view kernel, std::uint64_t number,
              simt::Executor& executor, Report& report) {
  CaseSpec spec = covered_case(cases_for(kernel), number);
  spec.placement.table_padding = 4;
  spec.placement.garbage_beyond_table = false;
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const TaintScope tainted(inputs);
  // Kernels branch on scores, which ends the program; values reach the results. (group-scores only
  // computes scores.)
  if (fault == PlantedFault::kSlot && kernel != "group-scores") {
    clear_taint(pool_bytes(inputs.kv.k));
  }
  std::vector<std::int32_t> lengths(inputs.context_length.begin(), inputs.context_length.end());
  for (std::int32_t& length : lengths) {
    if ((length % inputs.kv.k.block_size != 0) == (fault == PlantedFault::kSlot)) ++length;
  }
  PagedAttentionInputs longer = inputs;
  longer.context_length = lengths;
  if (const auto outcome = attention_outcome(kernel, executor, longer)) {
    report.print(std::to_string(number), *outcome);
  }
}

}  // namespace

std::optional<PlantedFault> planted_fault(std::string_view name) {
  if (name == "slot") return PlantedFault::kSlot;
  if (name == "entry") return PlantedFault::kEntry;
  return std::nullopt;
}

bool is_planted_in(std::string_view kernel) {
  return std::ranges::find(kAttentionKernels, kernel) != kAttentionKernels.end();
}

int run_planted(PlantedFault fault, std::string_view kernel) {
  constexpr std::uint64_t kCases = 10;
  simt::Executor executor({});
  Report report;
  // Stops at the first visible fault: memory freed while tainted would taint its next owner.
  for (std::uint64_t i = 0; i < kCases && report.exit_status() == 0; ++i) {
    run_case(fault, kernel, i, executor, report);
  }
  return report.exit_status();
}

}  // namespace recto::verify
