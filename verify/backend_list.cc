#include "verify/backend_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "verify/device_call.h"
#include "verify/host_api_backends.h"
#include "verify/kernel_backends.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kSplitSize = 40;  // which few contexts divide

// Backwards: who reads too early finds NaN.
const KernelRun kRun = {.executor = {.schedule = {.policy = simt::SchedulePolicy::kReverse}}};

std::string about_reference(const std::string& name) {
  if (name == "naive-fp64") return "gathers each context, then the textbook's formula";
  if (name == "online-fp64") return "online softmax, block by block";
  if (name == "decode-step-fp64") return "the newest token's K and V outside the cache";
  if (name.starts_with("split-truncating")) return "low precision as of tensor cores, in splits";
  return "plain low precision, in tiles";
}

struct KernelEntry {
  const char* name;
  BackendKind kind;  // on the CPU
  const char* about;
  Backend (*make)(const KernelRun& how);
};

Backend invariant_host_api(const KernelRun& how) {
  PlanOptions options;
  options.batch_invariance = BatchInvariance::kRows;
  return host_api_backend(how, options);
}

constexpr KernelEntry kKernels[] = {
    {"paged-decode", BackendKind::kExecutor, "cuda/kernels/paged_decode", paged_decode_backend},
    {"split-decode", BackendKind::kExecutor, "cuda/kernels/split_decode, splits of 40",
     [](const KernelRun& how) { return split_decode_backend(how, kSplitSize); }},
    {"group-decode", BackendKind::kExecutor, "cuda/kernels/group_decode, splits of 40",
     [](const KernelRun& how) { return group_decode_backend(how, kSplitSize); }},
    {"bulk-decode", BackendKind::kExecutor, "cuda/kernels/bulk_decode, splits of 40",
     [](const KernelRun& how) { return bulk_decode_backend(how, kSplitSize); }},
    {"paged-prefill", BackendKind::kExecutor, "cuda/kernels/paged_prefill", paged_prefill_backend},
    {"host-api", BackendKind::kHostApi, "cuda/paged_attention.h, kernels by its rule",
     [](const KernelRun& how) { return host_api_backend(how, {}); }},
    {"host-api-invariant", BackendKind::kHostApi, "the same, batch-invariant", invariant_host_api},
    {"host-api-step", BackendKind::kHostApi, "cuda/decode_step.h, which appends the newest token",
     [](const KernelRun& how) { return host_api_step_backend(how, {}); }}};

// What tells one call's memory from another's.
bool is_same_call(const PagedAttentionInputs& a, const PagedAttentionInputs& b) {
  return a.q.data == b.q.data && a.kv.k.data == b.kv.k.data && a.kv.v.data == b.kv.v.data &&
         a.block_table.data == b.block_table.data &&
         a.context_length.data() == b.context_length.data();
}

// The schedule of a call that is made for another time: all policies in turn, each with its seeds.
KernelRun run_again(std::uint64_t time) {
  KernelRun how = kRun;
  how.executor.schedule = {.policy = simt::kSchedulePolicies[time % simt::kSchedulePolicies.size()],
                           .seed = time};
  return how;
}

// Makes a call that is the last one again as run_again() says.
Backend rescheduled(const KernelEntry& entry) {
  struct Calls {
    PagedAttentionInputs last;
    std::uint64_t times = 0;
  };
  Backend backend = entry.make(kRun);
  backend.run = [first = backend.run, make = entry.make,
                 calls = std::make_shared<Calls>()](const PagedAttentionInputs& inputs) {
    calls->times = is_same_call(inputs, calls->last) ? calls->times + 1 : 0;
    calls->last = inputs;
    return calls->times == 0 ? first(inputs) : make(run_again(calls->times)).run(inputs);
  };
  return backend;
}

ListedBackend absent(ListedBackend listed, const std::string& why) {
  listed.why_not_here = why;
  listed.backend.why_unsupported = [why](const PagedAttentionInputs& /*inputs*/) {
    return std::optional(why);
  };
  return listed;
}

// With `why_not`: why the build that it belongs to is not there.
ListedBackend kernel_backend(const KernelEntry& entry, BackendKind kind,
                             const std::optional<std::string>& why_not) {
  ListedBackend listed{.kind = kind, .about = entry.about};
  if (!why_not) listed.backend = runs_on_gpu() ? entry.make(kRun) : rescheduled(entry);
  listed.backend.name = entry.name;
  if (kind == BackendKind::kGpu) listed.backend.name += "@gpu";
  return why_not ? absent(std::move(listed), *why_not) : listed;
}

}  // namespace

std::vector<ListedBackend> backend_list() {
  std::vector<ListedBackend> list;
  for (Backend& backend : reference_backends()) {
    std::string about = about_reference(backend.name);
    list.push_back({.backend = std::move(backend), .about = std::move(about)});
  }
  std::optional<std::string> why_no_executor;
  if (runs_on_gpu()) why_no_executor = "this program has the kernels as they are for a GPU";
  for (const KernelEntry& entry : kKernels)
    list.push_back(kernel_backend(entry, entry.kind, why_no_executor));
  for (const KernelEntry& entry : kKernels)
    list.push_back(kernel_backend(entry, BackendKind::kGpu, why_no_gpu()));
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
        "found '{}'; expected one of reference, executor, host-api, gpu{}", name, known));
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
