#include "verify/backend_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "cuda/attention_plan.h"
#include "verify/kernels/cache_kernels.h"
#include "verify/kernels/device_call.h"
#include "verify/kernels/host_api/host_api_backends.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/kernels/nvcc/nvcc_backends.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kSplitSize = 40;  // few contexts are multiples of it

// Runs threads in reverse order: a thread that reads too early finds NaN.
const KernelRun kRun = {.executor = {.schedule = {.policy = simt::SchedulePolicy::kReverse}}};

std::string about_reference(const std::string& name) {
  if (name == "naive-fp64") return "gathers each context, then the textbook's formula";
  if (name == "online-fp64") return "online softmax, block by block";
  if (name == "decode-step-fp64") return "the newest token's K and V outside the cache";
  if (name.starts_with("split-truncating")) return "tensor-core precision, in splits";
  return "plain low precision, in tiles";
}

struct KernelEntry {
  const char* name;
  BackendKind kind;    // on the CPU
  const char* kernel;  // as cuda/instantiations.h names it; null: the backend chooses
  const char* about;
  Backend (*make)(const KernelRun& how);
};

Backend invariant_host_api(const KernelRun& how) {
  PlanOptions options;
  options.batch_invariance = BatchInvariance::kRows;
  return host_api_backend(how, options);
}

constexpr const char* kReferenceDecode = attention_kernel_name(AttentionKernel::kReferenceDecode);
constexpr const char* kGqaDecode = attention_kernel_name(AttentionKernel::kGqaDecode);
constexpr const char* kTmaDecode = attention_kernel_name(AttentionKernel::kTmaDecode);
constexpr const char* kPrefill = attention_kernel_name(AttentionKernel::kPrefill);

constexpr KernelEntry kKernels[] = {
    {"reference-decode", BackendKind::kExecutor, kReferenceDecode, "cuda/kernels/reference_decode",
     reference_decode_backend},
    {"split-decode", BackendKind::kExecutor, kReferenceDecode,
     "cuda/kernels/split_decode, splits of 40",
     [](const KernelRun& how) { return split_decode_backend(how, kSplitSize); }},
    {"gqa-decode", BackendKind::kExecutor, kGqaDecode, "cuda/kernels/gqa_decode, splits of 40",
     [](const KernelRun& how) { return gqa_decode_backend(how, kSplitSize); }},
    {"tma-decode", BackendKind::kExecutor, kTmaDecode, "cuda/kernels/tma_decode, splits of 40",
     [](const KernelRun& how) { return tma_decode_backend(how, kSplitSize); }},
    {"paged-prefill", BackendKind::kExecutor, kPrefill, "cuda/kernels/paged_prefill",
     paged_prefill_backend},
    {"host-api", BackendKind::kHostApi, nullptr, "cuda/paged_attention.h, which selects the kernel",
     [](const KernelRun& how) { return host_api_backend(how, {}); }},
    {"host-api-invariant", BackendKind::kHostApi, nullptr, "the same, batch-invariant",
     invariant_host_api},
    {"host-api-step", BackendKind::kHostApi, nullptr,
     "cuda/decode_step.h, which appends the newest token",
     [](const KernelRun& how) { return host_api_step_backend(how, {}); }}};

// The same entry, skipping every case for the reason `why`.
ListedBackend skipping(ListedBackend listed, const std::string& why) {
  listed.backend.attend = [why](const PagedAttentionInputs&, const CallOptions&) {
    return Unsupported{why};
  };
  return listed;
}

// One of the two builds of kernels.
struct KernelBuild {
  bool is_gpu = false;
  std::optional<std::string> why_not_here = {};

  std::string name_of(const char* kernel) const {
    return std::string(kernel) + (is_gpu ? "@gpu" : "");
  }
};

ListedBackend attention_backend(const KernelEntry& entry, const KernelBuild& build) {
  ListedBackend listed{.kind = build.is_gpu ? BackendKind::kGpu : entry.kind,
                       .about = entry.about,
                       .kernel = entry.kernel == nullptr ? "" : entry.kernel,
                       .why_not_here = build.why_not_here};
  if (!build.why_not_here) listed.backend = entry.make(kRun);
  listed.backend.name = build.name_of(entry.name);
  return build.why_not_here ? skipping(std::move(listed), *build.why_not_here) : listed;
}

ListedBackend cache_backend(const CacheKernel& entry, const KernelBuild& build) {
  ListedBackend listed{.kind = build.is_gpu ? BackendKind::kGpu : BackendKind::kExecutor,
                       .about = entry.about,
                       .kernel = entry.kernel,
                       .why_not_here = build.why_not_here};
  listed.backend.name = build.name_of(entry.name);
  if (build.is_gpu == runs_on_gpu()) listed.laws = entry.laws(listed.backend.name, kRun);
  return build.why_not_here ? skipping(std::move(listed), *build.why_not_here) : listed;
}

ListedBackend ptx_backend(const std::string& target) {
  ListedBackend listed{.kind = BackendKind::kPtx,
                       .about = "the host API as nvcc compiles it for " + target};
  const Result<std::string> library = nvcc_library(target);
  if (library.is_ok()) {
    listed.backend = nvcc_backend(target, library.value());
    return listed;
  }
  listed.backend.name = "ptx-" + target;
  listed.why_not_here = library.status().message();
  const std::string why = *listed.why_not_here;
  return skipping(std::move(listed), why);
}

}  // namespace

std::vector<ListedBackend> backend_list() {
  std::vector<ListedBackend> list;
  for (Backend& backend : reference_backends()) {
    std::string about = about_reference(backend.name);
    list.push_back({.backend = std::move(backend), .about = std::move(about)});
  }
  KernelBuild executor;
  if (runs_on_gpu()) executor.why_not_here = "this program has the GPU build of the kernels";
  for (const KernelBuild& build : {executor, KernelBuild{true, why_no_gpu()}}) {
    for (const KernelEntry& entry : kKernels) list.push_back(attention_backend(entry, build));
    for (const CacheKernel& entry : cache_kernels()) list.push_back(cache_backend(entry, build));
  }
  for (const char* target : kNvccTargets) list.push_back(ptx_backend(target));
  return list;
}

Result<std::vector<ListedBackend>> choose_backends(const std::vector<ListedBackend>& list,
                                                   const std::vector<std::string>& names) {
  const auto is_meant = [](const ListedBackend& listed, const std::string& name) {
    return listed.backend.name == name || backend_kind_name(listed.kind) == name;
  };
  for (const std::string& name : names) {
    if (std::ranges::any_of(list, [&](const auto& listed) { return is_meant(listed, name); }))
      continue;
    std::string known;
    for (const ListedBackend& listed : list) known += ", " + listed.backend.name;
    return Status::invalid_input(fmt::format(
        "found '{}'; expected one of reference, executor, host-api, gpu, ptx{}", name, known));
  }
  std::vector<ListedBackend> chosen;
  for (const ListedBackend& listed : list) {
    const bool is_chosen =
        std::ranges::any_of(names, [&](const std::string& name) { return is_meant(listed, name); });
    if (names.empty() || is_chosen) chosen.push_back(listed);
  }
  return chosen;
}

}  // namespace recto::verify
