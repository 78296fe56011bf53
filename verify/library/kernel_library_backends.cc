#include "verify/library/kernel_library_backends.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "reference/numerics.h"
#include "verify/laws/cache_operations/kv_pools.h"
#include "verify/laws/cache_operations/kv_write_law.h"

namespace recto::verify {
namespace {

using Library = std::shared_ptr<KernelLibrary>;

bool has_one_row_each(const PagedAttentionInputs& inputs) {
  if (inputs.q.num_rows != std::ssize(inputs.context_length)) return false;
  for (std::size_t s = 0; s < inputs.query_start.size(); ++s)
    if (inputs.query_start[s] != static_cast<std::int32_t>(s)) return false;
  return true;
}

std::string name_of(const Library& library, KernelFunction function) {
  return library->name() + " " + kernel_function_name(function);
}

std::function<void(CallsAre)> restart_of(const Library& library) {
  return [library](CallsAre calls) { library->restart(calls); };
}

Backend attention_backend(const Library& library, KernelFunction function) {
  const bool is_decode = function == KernelFunction::kDecode;
  const CaseDemands& demands = library->options().demands;
  const bool takes_any = is_decode && demands.poison == PoisonLimit::kAny;
  return {
      .name = name_of(library, function),
      // In prefill, rows may share tiles.
      .capabilities = {.masked_value = takes_any ? MaskedValue::kNotRead : MaskedValue::kTimesZero,
                       .poison = demands.poison,
                       .tails = demands.tails,
                       .takes_stale_memory = true,
                       .takes_out_gaps = true},
      .attend = [library, function, is_decode](const PagedAttentionInputs& inputs,
                                               const CallOptions& options) -> CallOutcome {
        if (is_decode && !has_one_row_each(inputs))
          return Unsupported{"not exactly one query row per sequence"};
        return library->attend(function, inputs, options);
      },
      .numerics_of =
          [declared = library->options().numerics](const PagedAttentionInputs& inputs,
                                                   const CallOptions&) {
            return with_declared(declared,
                                 reference::third_party_numerics(inputs.q.type, inputs.kv.k.type));
          },
      .restart = restart_of(library)};
}

// Tests this with a write of one token without a slot.
std::optional<std::string> why_no_write(const Library& library,
                                        const PagedAttentionInputs& inputs) {
  const auto row_of = [&](const KvTensorView& cache, std::vector<std::byte>& memory) {
    memory.resize(static_cast<std::size_t>(cache.num_kv_heads * cache.head_dim *
                                           element_bytes(inputs.q.type)));
    return dense_rows<const void*>(memory.data(), inputs.q.type, 1, cache.num_kv_heads,
                                   cache.head_dim);
  };
  KvPools pools = copied_pools(inputs.kv);
  std::vector<std::byte> k;
  std::vector<std::byte> v;
  const std::int64_t nowhere[] = {-1};
  const CallOutcome outcome = library->write_kv({.k = row_of(inputs.kv.k, k),
                                                 .v = row_of(inputs.kv.v, v),
                                                 .slot_mapping = nowhere,
                                                 .kv = pools.over(inputs.kv)});
  const auto* const refused = std::get_if<Unsupported>(&outcome);
  return refused == nullptr ? std::nullopt : std::optional(refused->reason);
}

Backend write_backend(const Library& library) {
  return {.name = name_of(library, KernelFunction::kKvWrite),
          .refusal = [library](const PagedAttentionInputs& inputs,
                               const CallOptions&) { return why_no_write(library, inputs); },
          .restart = restart_of(library)};
}

Law write_law(const Library& library, const std::shared_ptr<const WriteObserver>& observer) {
  return kv_write_law({.backend = name_of(library, KernelFunction::kKvWrite),
                       .write = [library, observer](const KvWriteInputs& inputs) {
                         CallOutcome outcome = library->write_kv(inputs);
                         const bool is_served = !std::holds_alternative<Unsupported>(outcome);
                         if (is_served && *observer) (*observer)(inputs);
                         return outcome;
                       }});
}

}  // namespace

LibraryUnderTest library_under_test(const std::shared_ptr<KernelLibrary>& library) {
  LibraryUnderTest tested;
  for (const KernelFunction function : {KernelFunction::kDecode, KernelFunction::kPrefill}) {
    if (library->has(function)) tested.backends.push_back(attention_backend(library, function));
  }
  if (library->has(KernelFunction::kKvWrite)) {
    tested.backends.push_back(write_backend(library));
    const auto observer = std::make_shared<WriteObserver>();
    tested.set_write_observer = [observer](WriteObserver next) { *observer = std::move(next); };
    tested.laws.push_back(write_law(library, observer));
  }
  return tested;
}

Result<LibraryUnderTest> library_under_test(const std::string& path,
                                            const KernelLibraryOptions& options) {
  const Result<Library> opened = KernelLibrary::open(path, options);
  RECTO_RETURN_IF_ERROR(opened.status());
  return library_under_test(opened.value());
}

Result<std::vector<Backend>> kernel_library_backends(const std::string& path,
                                                     const KernelLibraryOptions& options) {
  Result<LibraryUnderTest> tested = library_under_test(path, options);
  RECTO_RETURN_IF_ERROR(tested.status());
  return std::move(tested).value().backends;
}

}  // namespace recto::verify
