#include "verify/kernel_abi/kernel_library_backends.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "reference/numerics.h"
#include "verify/kv_moves/kv_pools.h"
#include "verify/kv_moves/kv_write_law.h"

namespace recto::verify {
namespace {

using Library = std::shared_ptr<KernelLibrary>;

void throw_unless_done(const CallOutcome& outcome) {
  using enum CallOutcome::Kind;
  if (outcome.kind == kDone) return;
  // When asked before, it supported the call.
  if (outcome.kind != kWrong) throw FailureOfKind("refused", outcome.text);
  throw FailureOfKind(
      outcome.failure, outcome.text,
      outcome.is_perhaps_machine ? FailureCause::kPerhapsMachine : FailureCause::kBackend);
}

bool has_one_row_each(const PagedAttentionInputs& inputs) {
  if (inputs.q.num_rows != std::ssize(inputs.context_length)) return false;
  for (std::size_t s = 0; s < inputs.query_start.size(); ++s)
    if (inputs.query_start[s] != static_cast<std::int32_t>(s)) return false;
  return true;
}

std::string name_of(const Library& library, KernelFunction function) {
  return library->name() + " " + kernel_function_name(function);
}

void add_hooks(Backend& backend, const Library& library) {
  backend.restart = [library] { library->restart(); };
  backend.end_trials = [library] { library->end_trials(); };
  backend.take_printed = [library] { return library->take_printed(); };
}

Backend attention_backend(const Library& library, KernelFunction function,
                          const ResultMemory& results = {}) {
  Backend backend;
  backend.name = name_of(library, function);
  backend.why_unsupported = [library, function, results](
                                const PagedAttentionInputs& inputs) -> std::optional<std::string> {
    if (function == KernelFunction::kDecode && !has_one_row_each(inputs)) {
      return "not one query row a sequence";
    }
    return library->why_unsupported(function, inputs, results);
  };
  backend.run = [library, function, results](const PagedAttentionInputs& inputs) {
    reference::AttentionResult result;
    throw_unless_done(library->attend(function, inputs, result, results));
    return result;
  };
  backend.with_stale_memory = [library, function, results](std::uint32_t pattern) {
    ResultMemory stale = results;
    stale.stale = pattern;
    return attention_backend(library, function, stale);
  };
  backend.with_out_gaps = [library, function, results](const RowGaps& gaps) {
    ResultMemory apart = results;
    apart.gaps = gaps;
    return attention_backend(library, function, apart);
  };
  backend.numerics = [](const PagedAttentionInputs& inputs) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  add_hooks(backend, library);
  // Rows may share tiles in prefill.
  if (function == KernelFunction::kPrefill) {
    backend.masked_value = [](const PagedAttentionInputs&) { return MaskedValue::kTimesZero; };
  }
  return backend;
}

// Asked by a write of one token to nowhere.
std::optional<std::string> why_no_write(const Library& library,
                                        const PagedAttentionInputs& inputs) {
  const auto row_of = [&](const KvTensorView& cache, std::vector<std::byte>& memory) {
    RowsView row = {.type = inputs.q.type,
                    .num_rows = 1,
                    .num_heads = cache.num_kv_heads,
                    .head_dim = cache.head_dim,
                    .row_stride = cache.num_kv_heads * cache.head_dim,
                    .head_stride = cache.head_dim};
    memory.resize(static_cast<std::size_t>(row.row_stride * element_bytes(row.type)));
    row.data = memory.data();
    return row;
  };
  KvPools pools = copied_pools(inputs.kv);
  std::vector<std::byte> k;
  std::vector<std::byte> v;
  const std::int64_t nowhere[] = {-1};
  return library->why_unsupported(KvWriteInputs{.k = row_of(inputs.kv.k, k),
                                                .v = row_of(inputs.kv.v, v),
                                                .slot_mapping = nowhere,
                                                .kv = pools.over(inputs.kv)});
}

Backend write_backend(const Library& library) {
  Backend backend;
  backend.name = name_of(library, KernelFunction::kKvWrite);
  backend.why_unsupported = [](const PagedAttentionInputs& /*inputs*/) {
    return std::optional<std::string>("it writes K and V, and computes no attention");
  };
  backend.why_no_case = [library](const PagedAttentionInputs& inputs) {
    return why_no_write(library, inputs);
  };
  add_hooks(backend, library);
  return backend;
}

Law write_law(const Library& library, const std::shared_ptr<const WriteWatcher>& watcher) {
  return kv_write_law(
      {.backend = name_of(library, KernelFunction::kKvWrite),
       .why_unsupported =
           [library](const KvWriteInputs& inputs) { return library->why_unsupported(inputs); },
       .write =
           [library, watcher](const KvWriteInputs& inputs) {
             if (*watcher) (*watcher)(inputs);
             throw_unless_done(library->write_kv(inputs));
           }});
}

}  // namespace

Result<KernelLibraryTrial> kernel_library_trial(const std::string& path,
                                                const KernelLibraryOptions& options) {
  const Result<Library> opened = KernelLibrary::open(path, options);
  RECTO_RETURN_IF_ERROR(opened.status());
  const Library& library = opened.value();
  KernelLibraryTrial trial;
  trial.late_calls = [library] { return library->late_calls(); };
  for (const KernelFunction function : {KernelFunction::kDecode, KernelFunction::kPrefill}) {
    if (library->has(function)) trial.backends.push_back(attention_backend(library, function));
  }
  if (library->has(KernelFunction::kKvWrite)) {
    trial.backends.push_back(write_backend(library));
    const auto watcher = std::make_shared<WriteWatcher>();
    trial.watch_writes = [watcher](WriteWatcher watch) { *watcher = std::move(watch); };
    trial.laws.push_back(write_law(library, watcher));
  }
  return trial;
}

Result<std::vector<Backend>> kernel_library_backends(const std::string& path,
                                                     const KernelLibraryOptions& options) {
  Result<KernelLibraryTrial> trial = kernel_library_trial(path, options);
  RECTO_RETURN_IF_ERROR(trial.status());
  return std::move(trial).value().backends;
}

}  // namespace recto::verify
